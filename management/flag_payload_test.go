package management_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// What a secret payload is, and how it is shown to a caller that may not read it.
const (
	secretPayload = `{"token":"s3cr3t-value"}`
	masked        = `"********* (encrypted)"`
)

// encryptedFlag makes a flag with an encrypted payload.
func (w *world) encryptedFlag() string {
	w.t.Helper()
	return w.flag(w.web, `{"key":"conf","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":`+secretPayload+`}}}`)
}

// payload returns the payload that a view of a flag shows.
func payload(t testing.TB, v *management.FlagView) string {
	t.Helper()
	sent := decode[struct{ Payloads map[string]json.RawMessage }](t, shown(v.Filters)).Payloads["true"]
	var text string
	if json.Unmarshal(sent, &text) != nil {
		return string(sent) // as it was sent
	}
	return text
}

// management.md §13.3 and §15.2: encrypted payloads are read with keys only, and are
// nowhere else.
func TestEncryptedPayloads(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	id := w.encryptedFlag()
	var told strings.Builder // what anybody may see, and what is stored
	note := func(v any) { told.WriteString(encode(t, v) + "\n") }

	key := w.key(w.ada, scopes("feature_flag:read"))
	if got := payload(t, must(w.Flag(ctx, key, ref(w.web), id))(t)); got != secretPayload {
		t.Errorf("a key reads %q", got)
	}
	if got := payload(t, must(w.ListFlags(ctx, key, ref(w.web), management.FlagQuery{}, 10, 0))(t).Items[0]); got != secretPayload {
		t.Errorf("a key reads %q in a list", got)
	}
	if got := payload(t, w.seeFlag(id)); got != masked {
		t.Errorf("without a key it is shown as %q", got)
	}
	note(w.seeFlag(id))
	note(must(w.ListFlags(ctx, w.as(w.ada), ref(w.web), management.FlagQuery{}, 10, 0))(t))

	// What comes back as it was shown stays what it is, and what does not is new.
	for _, body := range []string{
		`{"filters":{"payloads":{"true":` + quoted(masked) + `}}}`, `{"filters":` + shown(w.seeFlag(id).Filters) + `}`,
		`{"filters":{"groups":[{"rollout_percentage":100}]}}`, `{"key":"renamed"}`, `{"name":"N"}`, `{"key":"conf"}`, `{"has_encrypted_payloads":true}`,
	} {
		v := must(w.changeFlag(id, body))(t)
		note(v)
		if got := payload(t, must(w.Flag(ctx, key, ref(w.web), id))(t)); got != secretPayload {
			t.Errorf("after UpdateFlag(%s) the payload is %q", body, got)
		}
	}
	before := len(w.activities())
	note(must(w.changeFlag(id, `{"filters":{"payloads":{"true":"\"s3cr3t-other\""}}}`))(t))
	if got := payload(t, must(w.Flag(ctx, key, ref(w.web), id))(t)); got != `"s3cr3t-other"` {
		t.Errorf("the new payload is %q", got)
	}
	if a := w.activities(); len(a) != before+1 ||
		string(a[0].Detail) != `{"name":"conf","changes":[{"type":"FeatureFlag","field":"payloads","before":null,"after":null,"action":"changed"}]}` {
		t.Errorf("activity %s", a[0].Detail)
	}
	note(must(w.changeFlag(id, `{"filters":{"payloads":null}}`))(t))
	note(must(w.changeFlag(id, `{"filters":{"payloads":{"true":`+secretPayload+`}}}`))(t))

	// Others see it no better.
	w.feature(w.web, `{"name":"New","stage":"beta","feature_flag_id":`+id+`}`)
	note(must(w.ListEarlyAccessFeatures(ctx, w.as(w.ada), ref(w.web), 10, 0))(t))
	note(must(w.MyFlags(ctx, key, ref(w.web), ""))(t))
	note(must(w.EvaluationReasons(ctx, key, ref(w.web), "u", ""))(t))
	note(must(w.ExplainFlag(ctx, w.as(w.ada), ref(w.web), id, []byte(`{"distinct_id":"u"}`)))(t))
	page := must(w.ListActivity(ctx, w.as(w.ada), ref(w.web), management.ActivityQuery{Page: 1, Limit: 100}))(t)
	note(page)
	for _, wrong := range []string{
		`{"filters":{"payloads":{"true":"s3cr3t-text"}}}`, `{"filters":{"payloads":{"x":"\"s3cr3t-x\""}}}`, `{"filters":{"payloads":"s3cr3t"}}`,
		`{"filters":{"payloads":{"true":{"s3cr3t-key":1}},"early_exit":7}}`, `{"key":"a b","filters":{"payloads":{"true":"\"s3cr3t-y\""}}}`,
	} {
		_, err := w.changeFlag(id, wrong)
		if err == nil {
			t.Errorf("UpdateFlag(%s) = nil", wrong)
			continue
		}
		if !strings.Contains(wrong, `"payloads":"`) { // what has no payload at all is shown
			note(err.Error())
		}
	}
	for _, a := range w.activities() {
		note(a)
	}
	for _, f := range w.state().Flags {
		note(filtersText(t, &f))
	}
	told.WriteString(w.log.String())
	if text := told.String(); strings.Contains(text, "s3cr3t") {
		i := strings.Index(text, "s3cr3t")
		t.Errorf("a secret is told: %s", text[max(0, i-200):min(len(text), i+100)])
	}
	if !strings.Contains(told.String(), "encrypted") {
		t.Error("nothing was told at all")
	}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// A payload becomes secret, and does not become readable again.
func TestTurnEncryptionOnAndOff(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"conf","is_remote_configuration":true,"filters":{"payloads":{"true":`+secretPayload+`}}}`)
	if got := payload(t, w.seeFlag(id)); got != secretPayload {
		t.Errorf("a payload that is not encrypted is shown as %q", got)
	}
	must(w.changeFlag(id, `{"has_encrypted_payloads":true}`))(t)
	if got := payload(t, w.seeFlag(id)); got != masked {
		t.Errorf("encrypted it is shown as %q", got)
	}
	if detail := string(w.activities()[0].Detail); strings.Contains(detail, "s3cr3t") || !strings.Contains(detail, "has_encrypted_payloads") {
		t.Errorf("activity %s", detail)
	}
	for _, tt := range []struct{ body, want string }{
		{`{"has_encrypted_payloads":false}`, "invalid invalid_input has_encrypted_payloads"},
		{`{"has_encrypted_payloads":null}`, "invalid invalid_input has_encrypted_payloads"},
		{`{"has_encrypted_payloads":false,"filters":{"early_exit":true}}`, "invalid invalid_input has_encrypted_payloads"},
		{`{"has_encrypted_payloads":false,"filters":{"payloads":{"true":` + quoted(masked) + `}}}`, "invalid invalid_input filters"},
		{`{"is_remote_configuration":false}`, "invalid invalid_input has_encrypted_payloads"},
		{`{"is_remote_configuration":false,"has_encrypted_payloads":false}`, "invalid invalid_input has_encrypted_payloads"},
	} {
		before := w.state()
		_, err := w.changeFlag(id, tt.body)
		checkFault(t, "UpdateFlag("+tt.body+")", err, tt.want)
		w.checkUnchanged(tt.body, before)
	}
	if v := must(w.changeFlag(id, `{"has_encrypted_payloads":false,"filters":{"payloads":{"true":"2"}}}`))(t); payload(t, v) != "2" {
		t.Errorf("the new payload is shown as %q", payload(t, v))
	}
	must(w.changeFlag(id, `{"has_encrypted_payloads":true,"filters":{"payloads":{"true":"3"}}}`))(t)
	if v := must(w.changeFlag(id, `{"has_encrypted_payloads":false,"filters":{"payloads":null}}`))(t); !strings.Contains(shown(v.Filters), `"payloads":null`) {
		t.Errorf("filters %s, want no payload", shown(v.Filters))
	}
	must(w.changeFlag(id, `{"has_encrypted_payloads":true}`))(t)
	must(w.changeFlag(id, `{"has_encrypted_payloads":false}`))(t) // there is none
}

// Of payloads of variants each is encrypted once, whatever the variant is called.
func TestEncryptedVariants(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"conf","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{`+
		`"multivariate":{"variants":[{"key":"true","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"true":"1","b":"2"}}}`)
	v := must(w.Flag(t.Context(), w.key(w.ada), ref(w.web), id))(t)
	if !strings.Contains(shown(v.Filters), `"payloads":{"b":"2","true":"1"}`) {
		t.Errorf("filters %s", shown(v.Filters))
	}
}

// Secret keys are rotated, and one that is lost loses payloads, but not flags
// (Config.SecretKeys).
func TestSecretKeysOfPayloads(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	id := w.encryptedFlag()
	keys := func(keys ...[]byte) *world {
		return w.another(func(c *management.Config) { c.SecretKeys = keys })
	}
	read := func(w *world) string { return payload(t, must(w.Flag(ctx, w.key(w.ada), ref(w.web), id))(t)) }

	both := keys(secretKey('b'), secretKey('a'))
	if got := read(both); got != secretPayload {
		t.Errorf("with both keys it reads %q", got)
	}
	if got := read(keys(secretKey('b'))); got != masked {
		t.Errorf("without its key it reads %q", got)
	}
	before := w.state()
	must(both.changeFlag(id, `{"filters":{}}`))(t)
	after := w.state()
	if got := read(keys(secretKey('b'))); got != secretPayload {
		t.Errorf("after a change with the new key it reads %q", got)
	}
	if before.Flags[0].Version != after.Flags[0].Version || len(before.Activities) != len(after.Activities) {
		t.Error("to encrypt it anew counts as a change")
	}

	for _, lost := range []*world{keys(secretKey('c')), keys()} {
		access := &management.DefinitionsAccess{Project: w.web, Principal: lost.key(w.ada)}
		_, err := lost.RemoteConfig(ctx, access, "conf")
		checkFault(t, "RemoteConfig", err, "not found not_found")
		must(lost.changeFlag(id, `{"tags":["a"]}`))(t)
		must(lost.changeFlag(id, `{"tags":[]}`))(t)
		before := w.state()
		_, err = lost.changeFlag(id, `{"key":"renamed"}`)
		if fault(err) != "invalid invalid_input filters" && fault(err) != "invalid invalid_input has_encrypted_payloads" {
			t.Errorf("rename a flag whose payload is lost: %v", err)
		}
		w.checkUnchanged("a change that cannot be made", before)
	}
	if !strings.Contains(w.log.String(), "its secret key is missing") {
		t.Errorf("log %s", w.log)
	}
	other := keys(secretKey('c'))
	must(other.changeFlag(id, `{"key":"renamed","filters":{"payloads":{"true":"4"}}}`))(t)
	if got := read(other); got != "4" {
		t.Errorf("the payload that was sent anew reads %q", got)
	}

	none := newWorld(t, func(c *management.Config) { c.SecretKeys = nil })
	_, err := none.CreateFlag(ctx, none.as(none.ada), ref(none.web), decode[management.FlagPatch](t,
		`{"key":"conf","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":`+secretPayload+`}}}`))
	checkFault(t, "CreateFlag without secret keys", err, "invalid invalid_input has_encrypted_payloads")
}

// A stored payload cannot be moved to another flag, where others read it.
func TestEncryptedPayloadsStayWhereTheyAre(t *testing.T) {
	w := newWorld(t)
	id := w.encryptedFlag()
	sealed := w.state().Flags[0].Filters
	w.flag(w.shop, `{"key":"other","is_remote_configuration":true,"filters":{}}`)
	f := must(w.store.Flags().Get(t.Context(), storage.FlagProject.Is(w.shop.ID), storage.FlagID.Is(2)))(t)
	f.Filters, f.EncryptedPayloads = sealed, true
	w.ok(w.store.Flags().Update(t.Context(), f))
	if got := payload(t, must(w.Flag(t.Context(), w.key(w.dov), ref(w.shop), "2"))(t)); got != masked {
		t.Errorf("payload of flag %s is read as %q in another project", id, got)
	}
}

// wire.md §5.4 and §5.5.
func TestRemoteConfig(t *testing.T) {
	w := newWorld(t)
	w.flag(w.web, `{"key":"plain","is_remote_configuration":true,"filters":{"payloads":{"true":{"k": "v"}}}}`)            // 1
	w.encryptedFlag()                                                                                                     // 2
	w.flag(w.web, `{"key":"none","is_remote_configuration":true,"filters":{}}`)                                           // 3
	w.flag(w.web, `{"key":"boolean","filters":{"groups":[{}],"payloads":{"true":"1"}}}`)                                  // 4
	must(w.changeFlag(w.flag(w.web, `{"key":"gone","is_remote_configuration":true,"filters":{"payloads":{"true":"1"}}}`), // 5
		`{"deleted":true}`))(t)
	w.flag(w.web, `{"key":"2","is_remote_configuration":true,"filters":{"payloads":{"true":"\"by key\""}}}`)         // 6
	w.flag(w.web, `{"key":"off","active":false,"is_remote_configuration":true,"filters":{"payloads":{"true":"7"}}}`) // 7
	w.flag(w.shop, `{"key":"foreign","is_remote_configuration":true,"filters":{"payloads":{"true":"8"}}}`)           // 8
	personal := &management.DefinitionsAccess{Project: w.web, Principal: w.key(w.ada, scopes("feature_flag:read"))}
	project := &management.DefinitionsAccess{Project: w.web}
	const missing = "not found not_found"
	for _, tt := range []struct{ flag, personal, project string }{
		{"plain", `{"k":"v"}`, `{"k":"v"}`},
		{"1", `{"k":"v"}`, `{"k":"v"}`},
		{"conf", secretPayload, masked},
		{"2", `"by key"`, `"by key"`}, // a key before an ID
		{"6", `"by key"`, `"by key"`},
		{"none", missing, missing},
		{"boolean", missing, missing},
		{"gone", missing, missing},
		{"5", missing, missing},
		{"off", "7", "7"},
		{"foreign", missing, missing},
		{"8", missing, missing},
		{"99", missing, missing},
		{"", missing, missing},
		{"unknown", missing, missing},
	} {
		for want, access := range map[string]*management.DefinitionsAccess{"a" + tt.personal: personal, "b" + tt.project: project} {
			got, err := w.RemoteConfig(t.Context(), access, tt.flag)
			if err != nil {
				got = fault(err)
			}
			if got != want[1:] {
				t.Errorf("RemoteConfig(%q), personal key %t: %q, want %q", tt.flag, access == personal, got, want[1:])
			}
		}
	}
}
