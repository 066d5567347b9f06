package ingest

import (
	"strings"
	"time"
)

// instant is a moment of RFC 3339: whole Unix seconds, and the digits of the fraction without zeros at their end.
type instant struct {
	seconds  int64
	fraction string
}

// parseInstant reads a time by the grammar of RFC 3339, section 5.6, and its ranges, 5.7: time.Parse takes a comma for the
// point, hours of one digit and offsets of 24 hours and more. The leap second 23:59:60 of UTC is the first second of the next day,
// as in Unix time; which days have one is announced half a year ahead, so every day may.
func parseInstant(text string) (at instant, ok bool) {
	p := digits{rest: text, ok: true}
	year, month, day := p.number(4, 0, 9999, "-"), p.number(2, 1, 12, "-"), p.number(2, 1, 31, "Tt")
	hour, minute, second := p.number(2, 0, 23, ":"), p.number(2, 0, 59, ":"), p.number(2, 0, 60, "")
	if p.ok && strings.HasPrefix(p.rest, ".") {
		end := 1
		for end < len(p.rest) && p.rest[end] >= '0' && p.rest[end] <= '9' {
			end++
		}
		p.ok = end > 1
		at.fraction, p.rest = strings.TrimRight(p.rest[1:end], "0"), p.rest[end:]
	}
	offset := p.offset()
	if !p.ok || p.rest != "" || day > daysOf(year, month) {
		return instant{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute-offset, min(second, 59), 0, time.UTC)
	if at.seconds = t.Unix(); second == 60 {
		if t.Hour() != 23 || t.Minute() != 59 {
			return instant{}, false
		}
		at.seconds++
	}
	return at, true
}

// text writes the instant the one way that all its spellings have in common.
func (at instant) text() string {
	t := time.Unix(at.seconds, 0).UTC().Format("2006-01-02T15:04:05")
	if at.fraction != "" {
		t += "." + at.fraction
	}
	return t + "Z"
}

func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// digits takes numbers of a fixed width off a text.
type digits struct {
	rest string
	ok   bool
}

// number takes a number of width digits that lies in a range, and one of the characters of after, where there are any.
func (p *digits) number(width, least, most int, after string) (n int) {
	need := width
	if after != "" {
		need++
	}
	if !p.ok || len(p.rest) < need {
		p.ok = false
		return 0
	}
	for i := range width {
		c := p.rest[i]
		if c < '0' || c > '9' {
			p.ok = false
			return 0
		}
		n = n*10 + int(c-'0')
	}
	p.ok = n >= least && n <= most && (after == "" || strings.IndexByte(after, p.rest[width]) >= 0)
	p.rest = p.rest[need:]
	return n
}

// offset takes Z or ±hh:mm, in minutes.
func (p *digits) offset() int {
	if !p.ok || p.rest == "" {
		p.ok = false
		return 0
	}
	sign := p.rest[0]
	p.rest = p.rest[1:]
	if sign == 'Z' || sign == 'z' {
		return 0
	}
	minutes := p.number(2, 0, 23, ":")*60 + p.number(2, 0, 59, "")
	if sign == '-' {
		return -minutes
	}
	p.ok = p.ok && sign == '+'
	return minutes
}
