package growthbook

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/convert"
)

const wanted = `want what GrowthBook serves at /api/features/KEY: {"features": {…}, "savedGroups": {…}}`

// A document is what GrowthBook serves.
type document struct {
	features map[string]json.RawMessage
	groups   map[string]group
	notes    []string
}

// known are members of a document that say nothing about flags.
var known = []string{"features", "savedGroups", "encryptedFeatures", "encryptedSavedGroups", "encryptedContextualBandits", "encryptedExperiments", "status", "dateUpdated", "sseSupport", "contextualBandits", "experiments"}

// Decrypt returns a document with the members that are encrypted as [Convert] reads them. The key
// is the decryption key of the SDK connection.
func Decrypt(data []byte, key string) ([]byte, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return data, nil // Convert says what is wrong
	}
	for name, plain := range encrypted(members) {
		text, err := decryptMember(members[name], key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		members[plain] = text
		delete(members, name)
	}
	return json.Marshal(members)
}

// encrypted returns the names of members that are encrypted, with those that they have decrypted.
func encrypted(members map[string]json.RawMessage) map[string]string {
	names := make(map[string]string)
	for name := range members {
		if plain, ok := strings.CutPrefix(name, "encrypted"); ok && slices.Contains(known, name) && given(members[name]) {
			names[name] = strings.ToLower(plain[:1]) + plain[1:]
		}
	}
	return names
}

func read(data []byte) (*document, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return nil, errors.Join(errors.New(wanted), err)
	}
	if names := slices.Sorted(maps.Keys(encrypted(members))); len(names) > 0 {
		return nil, fmt.Errorf("%s is encrypted: fetch it by an SDK connection without encryption, "+
			"or give flagstaff import the decryption key in FLAGSTAFF_DECRYPTION_KEY", names[0])
	}
	features := members["features"]
	if !given(features) {
		return nil, errors.New(wanted)
	}
	d := &document{groups: make(map[string]group)}
	if json.Unmarshal(features, &d.features) != nil {
		return nil, fmt.Errorf("features is not an object of features by their keys, as other parts of the API have it; %s", wanted)
	}
	var groups map[string]json.RawMessage
	if raw := members["savedGroups"]; raw != nil && json.Unmarshal(raw, &groups) != nil {
		return nil, fmt.Errorf("savedGroups is not an object; %s", wanted)
	}
	for id, raw := range groups {
		d.groups[id] = newGroup(raw)
	}
	var experiments []json.RawMessage
	if json.Unmarshal(members["experiments"], &experiments) == nil && len(experiments) > 0 {
		d.notes = append(d.notes, fmt.Sprintf("%d experiments of pages (visual changes, redirects) are not flags: they stay where they are.", len(experiments)))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			d.notes = append(d.notes, fmt.Sprintf("The member %q of the document is not known: it is not read.", name))
		}
	}
	return d, nil
}

// given reports whether a member is there, and neither null nor the empty text.
func given(raw json.RawMessage) bool {
	return raw != nil && string(raw) != "null" && string(raw) != `""`
}

// decryptMember reads a text of an initialization vector and AES in CBC, both in base64.
func decryptMember(raw json.RawMessage, key string) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil, errors.New("it is not a text")
	}
	vector, encrypted, _ := strings.Cut(text, ".")
	iv, err1 := base64.StdEncoding.DecodeString(vector)
	b, err2 := base64.StdEncoding.DecodeString(encrypted)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	k, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, errors.New("the key is not base64, as decryption keys of SDK connections are")
	}
	block, err := aes.NewCipher(k)
	if err != nil {
		return nil, errors.New("the key is not one of 16, 24 or 32 bytes, as decryption keys of SDK connections are")
	}
	if len(iv) != aes.BlockSize || len(b) == 0 || len(b)%aes.BlockSize != 0 {
		return nil, errors.New("it is not text that AES has encrypted")
	}
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(b, b)
	if padding := int(b[len(b)-1]); padding > 0 && padding <= aes.BlockSize && json.Valid(b[:len(b)-padding]) {
		return b[:len(b)-padding], nil
	}
	return nil, errors.New("the key does not decrypt it")
}

// A group is a saved group.
type group struct {
	broken    bool // it has nobody, nor does its contrary
	unknown   bool // it is of a type that came later
	listed    bool
	legacy    bool // a list that does not name its attribute
	values    []any
	attribute *string
	condition any // of a group that is not listed
}

func newGroup(raw json.RawMessage) (g group) {
	if strings.HasPrefix(string(raw), "[") {
		g.broken = json.Unmarshal(raw, &g.values) != nil
		g.listed, g.legacy = true, true
		return g
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		g.broken = true
		return g
	}
	var kind string
	if err := json.Unmarshal(members["type"], &kind); err != nil || kind != "list" && kind != "condition" {
		g.unknown = true
		return g
	}
	if g.listed = kind == "list"; g.listed {
		g.broken = members["values"] == nil || members["values"][0] != '[' || json.Unmarshal(members["values"], &g.values) != nil
		if json.Unmarshal(members["attributeKey"], &g.attribute) != nil {
			g.attribute = nil
		}
		return g
	}
	if c := members["condition"]; c == nil || c[0] != '{' {
		g.broken = true
	} else if json.Unmarshal(c, &g.condition) != nil {
		g.condition = nil // it is one that fails what it is part of
	}
	return g
}

// members are those of an object of the document, which are taken one by one.
type members struct {
	left  map[string]json.RawMessage
	where string
	flag  *convert.Flag
	bad   bool // a member is not of its type: nothing of the object counts
}

// take reads a member, if it is there and not null.
func (m *members) take(name string, to any) {
	raw, ok := m.left[name]
	delete(m.left, name)
	if !ok || string(raw) == "null" {
		return
	}
	if err := json.Unmarshal(raw, to); err != nil {
		m.bad = true
		m.flag.Problems = append(m.flag.Problems, fmt.Sprintf("%s: %q is not what it has to be: what it belongs to is left out.", m.where, name))
	}
}

func (m *members) takeAll(to map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(to)) {
		m.take(name, to[name])
	}
}

// done names members that are left, and mean something that is not known.
func (m *members) done() {
	for _, name := range slices.Sorted(maps.Keys(m.left)) {
		m.flag.Problems = append(m.flag.Problems, fmt.Sprintf("%s: %q is not known: it has no effect.", m.where, name))
	}
}
