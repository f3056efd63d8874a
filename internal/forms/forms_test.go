package forms_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/forms"
)

// TestRead: the forms that an import takes are read, and each byte of a flag keeps its place.
func TestRead(t *testing.T) {
	const a, b = `{"id":1,"key":"a"}`, `{"id": 2, "key": "b"}`
	const cohort = `{"id":5,"name":"c","filters":{"properties":{"type":"OR","values":[]}}}`
	for _, tt := range []struct{ name, file, keys string }{
		{"a document", `{"flags":[` + a + `,` + b + `]}`, "a b"},
		{"a mark of an editor", "\ufeff" + `{"flags":[` + a + `]}`, "a"},
		{"a list", "[" + a + ",\n" + b + "]", "a b"},
		{"a page", `{"count":1,"next":null,"previous":null,"results":[` + a + `]}`, "a"},
		{"two pages", `{"count":2,"next":null,"results":[` + a + `]}` + "\n" + `{"count":2,"next":null,"results":[` + b + `]}`, "a b"},
		{"flags and cohorts", "[" + a + "]\n[" + cohort + "]", "a"},
		{"a page within a document", `{"flags":{"next":null,"results":[` + b + `]},"timezone":"UTC"}`, "b"},
		{"with a mark", "\ufeff[" + b + "]", "b"},
	} {
		d, err := forms.Read([]byte(tt.file))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		definitions, err := flags.Decode(bytes.NewReader(d.Text))
		if err != nil {
			t.Errorf("%s: %v: %s", tt.name, err, d.Text)
			continue
		}
		var keys []string
		for i := range definitions.Flags {
			key := definitions.Flags[i].Key
			keys = append(keys, key)
			at := bytes.Index(d.Text, []byte(`"`+key+`"`))
			if in := d.Offset(at); !strings.HasPrefix(tt.file[in:], `"`+key+`"`) {
				t.Errorf("%s: byte %d of the document is %d of the file: %.20q", tt.name, at, in, tt.file[in:])
			}
		}
		if got := strings.Join(keys, " "); got != tt.keys {
			t.Errorf("%s: flags %s, want %s", tt.name, got, tt.keys)
		}
		if strings.Contains(tt.file, `"id":5`) && len(definitions.Cohorts) != 1 {
			t.Errorf("%s: %d cohorts, want one", tt.name, len(definitions.Cohorts))
		}
	}
	if _, err := forms.Read([]byte(`{"next":"https://x/?page=2","results":[` + a + `]}`)); err == nil || !strings.Contains(err.Error(), "only a page") {
		t.Errorf("Read of a page that goes on: %v", err)
	}
	for _, file := range []string{"", "{", "7", `"x"`, `{}`, "[] x", "not JSON at all"} {
		if d, err := forms.Read([]byte(file)); err != nil || string(d.Text) != file && len(d.Text) > len(file)+20 {
			t.Errorf("Read(%q) = %v; want it as it is, for flags.Decode to refuse", file, err)
		}
	}
}

// TestForeign: files of other products are recognised.
func TestForeign(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{`{"flags":{"a":{"key":"a","on":true,"variations":[true,false],"fallthrough":{"variation":0}}},"segments":{}}`, "LaunchDarkly: flagstaff import -from launchdarkly takes it, see docs/from-launchdarkly.md"},
		{`{"_links":{},"items":[{"key":"a","kind":"boolean","variations":[],"_links":{}}],"totalCount":1}`, "LaunchDarkly"},
		{`[{"key":"a","variations":[],"environments":{}}]`, "LaunchDarkly"},
		{`{"version":1,"features":[{"name":"a","enabled":true,"strategies":[{"name":"default"}]}]}`, "Unleash: flagstaff import -from unleash takes it, see docs/from-unleash.md"},
		{`{"a":{"variations":{"on":true,"off":false},"defaultRule":{"variation":"on"}}}`, "GO Feature Flag: flagstaff import -from go-feature-flag takes it, see docs/from-go-feature-flag.md"},
		{"# flags\na:\n  variations:\n    on: true\n  defaultRule:\n    variation: on\n", "GO Feature Flag: flagstaff import -from go-feature-flag takes it, see docs/from-go-feature-flag.md"},
		{`{"$schema":"https://flagd.dev/schema/v0/flags.json","flags":{"a":{"state":"ENABLED","variants":{"on":true},"defaultVariant":"on"}}}`, "flagd"},
		{"flags:\n  a:\n    state: ENABLED\n    variants:\n      on: true\n    defaultVariant: on\n", "flagd"},
		{"version: 1\nfeatures:\n  - name: a\n    strategies:\n      - name: default\n", "Unleash"},
		{"namespace: default\nflags:\n- key: a\n  enabled: true\n", "Flipt"},
		{`{"features":{"a":{"defaultValue":false,"rules":[]}}}`, "GrowthBook"},
		{`{"flags":{"a":{"flagType":"boolean","defaultValue":true}}}`, "OpenFeature"},
		{"flags:\n- key: a\n  filters:\n    groups: []\n", "definitions in YAML"},
		{"a: 1\n", "this looks like YAML"},

		{`{"flags":[{"id":1,"key":"a","filters":{"groups":[{}]}}]}`, ""},
		{`{"flags":[{"id":1,"key":"a","variations":[]}]}`, ""},
		{`[{"id":1,"key":"a","name":"","filters":{"groups":[]}}]`, ""},
		{`{"results":[{"id":1,"key":"a"}]}`, ""},
		{`{"flags":{}}`, ""},
		{"plain text", ""},
		{"", ""},
	} {
		err := forms.Foreign([]byte(tt.file))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("Foreign(%.60q) = %v, want %q", tt.file, err, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"flags":[{"key":"a"}]}`, `[{"key":"a"}]`, `{"results":[{}],"next":null}[{}]`, "a: 1", "{"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := forms.Read(file)
		if err != nil {
			return
		}
		for at := range d.Text {
			if in := d.Offset(at); in < 0 || in > len(file)+len(d.Text) {
				t.Fatalf("byte %d is at %d of %d", at, in, len(file))
			}
		}
		_, _ = flags.Decode(bytes.NewReader(d.Text))
	})
}
