package management

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// redaction is what is shown of an encrypted payload to a user that may not read it:
// JSON, as all payloads are.
const redaction = `"********* (encrypted)"`

// mapPayloads returns filters with other payloads, which change returns for those
// there are. It calls change in the order of the keys. A payload that stays as it is keeps
// its JSON.
func mapPayloads(f flags.Filters, change func(key, payload string) string) flags.Filters {
	f.Payloads = maps.Clone(f.Payloads)
	for _, key := range slices.Sorted(maps.Keys(f.Payloads)) {
		if payload, ok := f.Payload(key); ok {
			if changed := change(key, payload); changed != payload {
				f.SetPayload(key, changed)
			}
		}
	}
	return f
}

// withoutPayloads returns filters that tell of payloads only that they are there.
func withoutPayloads(f flags.Filters) flags.Filters {
	return mapPayloads(f, func(_, _ string) string { return redaction })
}

// redactedFilters returns the filters of a flag without what is encrypted.
func redactedFilters(f *storage.Flag) flags.Filters {
	if !f.EncryptedPayloads {
		return f.Filters
	}
	return withoutPayloads(f.Filters)
}

// sealedPrefix marks payloads that are encrypted. No JSON begins so.
const sealedPrefix = "sealed:"

// sealContext is what an encrypted payload belongs to.
func sealContext(f *storage.Flag) string {
	return fmt.Sprintf("payload of flag %d/%s", f.Project, f.Key)
}

func (s *Service) sealPayload(f *storage.Flag, payload string) string {
	return sealedPrefix + base64.StdEncoding.EncodeToString(s.box.Seal([]byte(payload), sealContext(f)))
}

// openPayloads returns the filters of a flag with its payloads readable, but for
// those whose secret key is missing.
func (s *Service) openPayloads(f *storage.Flag) flags.Filters {
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

func (s *Service) openPayload(f *storage.Flag, payload string) (string, bool) {
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
func (s *Service) settlePayloads(f, before *storage.Flag, filters flags.Filters) (flags.Filters, error) {
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
func (s *Service) payloadBefore(f, before *storage.Flag, key string) (string, error) {
	payload, ok := before.Filters.Payload(key)
	if !f.EncryptedPayloads || !before.EncryptedPayloads || !ok {
		return "", invalid("filters", "invalid_input", "payloads/%s: must be the payload, not the mark that stands for an encrypted one", check.Excerpt(key))
	}
	if payload, ok = s.openPayload(before, payload); !ok {
		return "", invalid("filters", "invalid_input", "payloads/%s: must be sent anew, since the secret key of the one that is stored is missing", check.Excerpt(key))
	}
	return payload, nil
}

// withdrawPayloads returns the stored filters of a flag whose payloads shall be
// encrypted no more. A user that may not read them must not come to read them so.
func withdrawPayloads(before *storage.Flag, patch *FlagPatch) (flags.Filters, error) {
	f := before.Filters
	if len(f.Payloads) > 0 && !(patch.Filters.Set && patch.Filters.Value.Has("payloads")) {
		return f, invalid("has_encrypted_payloads", "invalid_input", "Encrypted payloads do not become readable: send others with the change, or null for none.")
	}
	f.Payloads = nil
	return f, nil
}
