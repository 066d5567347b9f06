package cases

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// sign returns the headers by which a provider signs a body, made by its published rule: scheme is stripe, github, standard-webhooks,
// bearer or hmac-sha256 (header, prefix, encoding); at is the moment in Unix seconds, for the schemes that carry one.
func sign(o map[string]any, body string, at int64) (map[string]string, error) {
	text := func(name string) string {
		if o[name] == nil {
			return ""
		}
		return fmt.Sprint(o[name])
	}
	secret := text("secret")
	mac := func(key, over string) []byte {
		m := hmac.New(sha256.New, []byte(key))
		m.Write([]byte(over))
		return m.Sum(nil)
	}
	switch text("scheme") {
	case "github":
		return map[string]string{"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac(secret, body))}, nil
	case "stripe":
		return map[string]string{"Stripe-Signature": fmt.Sprintf("t=%d,v1=%x", at, mac(secret, fmt.Sprintf("%d.%s", at, body)))}, nil
	case "standard-webhooks":
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return nil, err
		}
		id := text("id")
		return map[string]string{
			"Webhook-Id": id, "Webhook-Timestamp": fmt.Sprint(at),
			"Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(mac(string(key), fmt.Sprintf("%s.%d.%s", id, at, body))),
		}, nil
	case "bearer":
		return map[string]string{"Authorization": "Bearer " + secret}, nil
	case "hmac-sha256":
		sum := mac(secret, body)
		coded := hex.EncodeToString(sum)
		if text("encoding") == "base64" {
			coded = base64.StdEncoding.EncodeToString(sum)
		}
		return map[string]string{text("header"): text("prefix") + coded}, nil
	}
	return nil, fmt.Errorf("nobody signs by %q", text("scheme"))
}
