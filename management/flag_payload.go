package management

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flagstaff-go/flagstaff/management/internal/check"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/internal/rawjson"
)

// redaction is what is shown of an encrypted payload to who may not read it: JSON,
// as all payloads are.
const redaction = `"********* (encrypted)"`

// mapPayloads returns filters with f of each payload.
func mapPayloads(filters json.RawMessage, f func(key, payload string) string) json.RawMessage {
	for _, key := range uniqueValues(append(judge.Variants(filters), "true")) {
		if payload, ok := judge.Payload(filters, key); ok {
			filters = judge.WithPayload(filters, key, f(key, payload))
		}
	}
	return filters
}

// withoutPayloads returns filters that tell of payloads only that they are there.
func withoutPayloads(filters json.RawMessage) json.RawMessage {
	return mapPayloads(filters, func(_, _ string) string { return redaction })
}

// redactedFilters returns the filters of a flag without what is encrypted.
func redactedFilters(f *FeatureFlag) json.RawMessage {
	if !f.EncryptedPayloads {
		return f.Filters
	}
	return withoutPayloads(f.Filters)
}

// sealedPrefix marks payloads that are encrypted. No JSON begins so.
const sealedPrefix = "sealed:"

// sealContext is what an encrypted payload belongs to.
func sealContext(f *FeatureFlag) string {
	return fmt.Sprintf("payload of flag %d/%s", f.Project, f.Key)
}

func (s *Service) sealPayload(f *FeatureFlag, payload string) string {
	return sealedPrefix + base64.StdEncoding.EncodeToString(s.box.Seal([]byte(payload), sealContext(f)))
}

// openPayloads returns the filters of a flag with its payloads readable, but for
// those whose secret key is missing.
func (s *Service) openPayloads(f *FeatureFlag) json.RawMessage {
	if !f.EncryptedPayloads {
		return f.Filters
	}
	return mapPayloads(f.Filters, func(_, payload string) string {
		if plain, ok := s.openPayload(f, payload); ok {
			return plain
		}
		return redaction
	})
}

func (s *Service) openPayload(f *FeatureFlag, payload string) (string, bool) {
	text, sealed := strings.CutPrefix(payload, sealedPrefix)
	if !sealed {
		return payload, true
	}
	if s.box == nil {
		return "", false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	plain, err := s.box.Open(b, sealContext(f))
	return string(plain), err == nil
}

// settlePayloads returns filters that somebody has sent, and that were judged, as
// they are stored: what came back as it was shown is what it was before, and all is
// encrypted if the flag wants that.
func (s *Service) settlePayloads(f, before *FeatureFlag, filters json.RawMessage) (json.RawMessage, error) {
	var refused error
	filters = mapPayloads(filters, func(key, payload string) string {
		if payload == redaction {
			var err error
			if payload, err = s.payloadBefore(f, before, key); err != nil {
				refused = cmp.Or(refused, err)
				return payload
			}
		}
		if f.EncryptedPayloads {
			return s.sealPayload(f, payload)
		}
		return payload
	})
	return filters, refused
}

// payloadBefore returns the encrypted payload that a redaction stands for in a flag
// that goes on to encrypt its payloads.
func (s *Service) payloadBefore(f, before *FeatureFlag, key string) (string, error) {
	payload, ok := judge.Payload(before.Filters, key)
	if !f.EncryptedPayloads || !before.EncryptedPayloads || !ok {
		return "", invalid("filters", "invalid_input", "payloads/%s: must be the payload, not the mark that stands for an encrypted one", check.Excerpt(key))
	}
	if payload, ok = s.openPayload(before, payload); !ok {
		return "", invalid("filters", "invalid_input", "payloads/%s: must be sent anew, since the secret key of the one that is stored is missing", check.Excerpt(key))
	}
	return payload, nil
}

// withdrawPayloads returns the stored filters of a flag whose payloads shall be
// encrypted no more. Who may not read them must not come to read them so.
func withdrawPayloads(before *FeatureFlag, patch *FlagPatch) (json.RawMessage, error) {
	secret := false
	mapPayloads(before.Filters, func(_, payload string) string {
		secret = true
		return payload
	})
	sent, _ := rawjson.Object(patch.Filters.Value)
	if _, ok := sent["payloads"]; secret && !ok {
		return nil, invalid("has_encrypted_payloads", "invalid_input", "Encrypted payloads do not become readable: send others with the change, or null for none.")
	}
	return judge.Merge(before.Filters, json.RawMessage(`{"payloads":null}`))
}
