package forward

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// signature is the webhook-signature of Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks): over id,
// moment (Unix seconds) and body, one for each key.
func signature(keys [][]byte, id string, at int64, body []byte) string {
	var all []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at, 10) + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}
