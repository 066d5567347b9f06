package ingest

import (
	"strings"

	"hapax/internal/settle"
)

// noCurrency is the book of amounts that name no currency, or one that is none: ISO 4217's own code for that.
const noCurrency = "XXX"

// parseCurrency reads three ASCII letters, in any case.
func parseCurrency(text string) (code string, ok bool) {
	if len(text) != 3 {
		return "", false
	}
	for i := range 3 {
		if c := text[i] | 0x20; c < 'a' || c > 'z' {
			return "", false
		}
	}
	return strings.ToUpper(text), true
}

// decimals are the minor units of ISO 4217 (list one), for currencies with any number but two.
var decimals = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0, "VND": 0,
	"VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// twoDecimals are those of ISO 4217 with two.
const twoDecimals = ` AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC
 CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD
 KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN
 QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED
 VES WST XCD XCG YER ZAR ZMW ZWG `

func init() {
	for code := range strings.FieldsSeq(twoDecimals) {
		decimals[code] = 2
	}
}

// exponent is how many decimals a currency's minor units have. ok is false where neither the source nor ISO 4217 says.
func (s *Source) exponent(currency string) (n int, ok bool) {
	if n, ok = s.Exponents[currency]; !ok {
		n, ok = decimals[currency]
	}
	return n, ok
}

// minorUnits writes a whole number of minor units as an amount of the contract. ok is false where text is no such number, or one too
// large for an amount.
func minorUnits(text string, exponent int) (amount string, ok bool) {
	if text == "" || len(text) > settle.MaxWholeDigits+exponent || text[0] == '0' && len(text) > 1 {
		return "", false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return "", false
		}
	}
	if exponent == 0 {
		return text, true
	}
	if pad := exponent + 1 - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	point := len(text) - exponent
	return text[:point] + "." + text[point:], true
}
