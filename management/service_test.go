package management_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
)

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*management.Config)
		want   string // of the error
	}{
		{"defaults", func(*management.Config) {}, ""},
		{"no store", func(c *management.Config) { c.Store = nil }, "Config.Store is missing"},
		{"https", func(c *management.Config) { c.AppURL = "https://flags.example.com/under/" }, ""},
		{"no URL", func(c *management.Config) { c.AppURL = "flags.example.com" }, `Config.AppURL is "flags.example.com"`},
		{"another scheme", func(c *management.Config) { c.AppURL = "ftp://flags.example.com" }, "Config.AppURL"},
		{"no host", func(c *management.Config) { c.AppURL = "https:///x" }, "Config.AppURL"},
		{"no good URL", func(c *management.Config) { c.AppURL = "http://%zz" }, "Config.AppURL"},
		{"unknown mutations", func(c *management.Config) { c.Mutations = 9 }, "Config.Mutations is 9"},
		{"a short key", func(c *management.Config) { c.SecretKeys = [][]byte{secretKey('a'), []byte("short")} }, "Config.SecretKeys"},
		{"a key twice", func(c *management.Config) { c.SecretKeys = [][]byte{secretKey('a'), secretKey('a')} }, "Config.SecretKeys"},
		{"codes without keys", func(c *management.Config) { c.VerifyByCode = true }, "Config.VerifyByCode needs Config.SecretKeys"},
		{"codes", func(c *management.Config) { c.VerifyByCode, c.SecretKeys = true, [][]byte{secretKey('a')} }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := management.Config{Store: sqlitetest.Open(t)}
			tt.change(&c)
			s, err := management.New(c)
			switch {
			case tt.want == "" && (err != nil || s == nil):
				t.Errorf("New = %v, %v", s, err)
			case tt.want != "" && (err == nil || s != nil || !strings.HasPrefix(err.Error(), "management: ") || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("New = %v, %v; want an error about %s", s, err, tt.want)
			case err != nil && strings.Contains(err.Error(), "short"):
				t.Errorf("New = %v, which has a key", err)
			}
		})
	}
}

// A Service of the zero Config works, on the wall clock.
func TestDefaults(t *testing.T) {
	w := newWorld(t)
	s := must(management.New(management.Config{Store: w.store}))(t)
	p := must(s.PrincipalOf(t.Context(), w.ada.UUID))(t)
	if _, err := s.CreateProject(t.Context(), p, "@current", management.ProjectPatch{Name: optional.Of("x")}); err != nil {
		t.Errorf("CreateProject = %v", err)
	}
	if s.MailAvailable() {
		t.Error("MailAvailable is true without a Mailer")
	}
	if a := w.activities()[0]; a.Created.Before(begin) || a.Created.Nanosecond()%1000 != 0 {
		t.Errorf("activity of %s, want now in microseconds", a.Created)
	}
}
