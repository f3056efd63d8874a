package management_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// What each method writes into the activity log.
func TestActivities(t *testing.T) {
	var all strings.Builder
	for _, m := range methods() {
		if len(m.log) == 0 {
			continue
		}
		c := m.callable(t)
		before := len(c.activities())
		first := c.world
		organizations, users := c.state().Organizations, c.state().Users
		checkFault(t, m.name, m.call(c), "")
		list := c.activities()
		fmt.Fprintf(&all, "---- %s\n", m.name)
		for _, a := range list[:len(list)-before] {
			if !a.Created.Equal(c.clock.Now()) || a.Impersonated || a.ID.Version() != 7 {
				t.Errorf("%s logs %+v", m.name, a)
			}
			project := "none"
			if a.Project != nil {
				project = fmt.Sprint(*a.Project)
			}
			fmt.Fprintf(&all, "%s, item %s, project %s\n%s\n", c.describe(&a), a.ItemID, project, a.Detail)
		}
		text := all.String()
		all.Reset()
		for _, o := range organizations {
			text = strings.ReplaceAll(text, o.ID.String(), "("+o.Name+")")
		}
		for _, u := range users {
			text = strings.ReplaceAll(text, u.UUID.String(), "("+u.FirstName+")")
		}
		text = strings.ReplaceAll(text, c.key, "(key)")
		text = strings.ReplaceAll(text, first.web.APIKey, "(old key)")
		text = regexp.MustCompile(`phc_[0-9A-Za-z]{30,}`).ReplaceAllString(text, "(new key)")
		text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`).ReplaceAllString(text, "(new UUID)")
		text = regexp.MustCompile(`\b[0-9A-Za-z]{35,43}\b`).ReplaceAllString(text, "(new ID)")
		all.WriteString(text)
	}
	path := filepath.Join("testdata", "golden", "activities.txt")
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(all.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(must(os.ReadFile(path))(t)), all.String()); diff != "" {
		t.Errorf("activities (-want +got); go test -update rewrites them\n%s", diff)
	}
}

// Changes of somebody else are logged as what they are: by the staff, of the user.
func TestActivityByStaff(t *testing.T) {
	w := newWorld(t)
	must(w.patch(w.as(w.sam), w.ada.UUID.String(), `{"is_staff":true,"first_name":"Adele"}`))(t)
	a := w.activities()[0]
	if *a.User != w.sam.ID || a.ItemID != w.ada.UUID.String() || *a.Organization != w.acme.ID || a.System {
		t.Errorf("activity %+v", a)
	}
	const want = `{"name":"ada@example.com","changes":[{"type":"User","field":"first_name","before":"Ada","after":"Adele","action":"changed"},` +
		`{"type":"User","field":"is_staff","before":false,"after":true,"action":"changed"}]}`
	if got := string(a.Detail); got != want {
		t.Errorf("detail %s, want %s", got, want)
	}
}

// What does not change is not logged.
func TestNoActivityWithoutChange(t *testing.T) {
	w := newWorld(t)
	must(w.patch(w.as(w.ada), "@me", `{"theme_mode":"dark","events_column_config":{"active":["a"]},"notification_settings":{"plugin_disabled":false}}`))(t)
	before := w.state()
	must(w.patch(w.as(w.ada), "@me", `{"first_name":" Ada ","theme_mode":"dark","events_column_config":{ "active": ["a"] },"set_current_team":1,`+
		`"email":"ADA@example.com","notification_settings":{"plugin_disabled":false},"hedgehog_config":null}`))(t)
	must(w.SetHedgehog(t.Context(), w.as(w.ada), "@me", json.RawMessage("null")))(t)
	must(w.UpdateMember(t.Context(), w.as(w.ada), w.acme.ID.String(), w.cyd.UUID.String(), management.MemberPatch{Level: optional.Of(storage.LevelMember)}))(t)
	w.checkUnchanged("nothing new", before)
}

// What is empty is not there (management.md §11.7).
func TestActionsOfChanges(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ body, want string }{
		{`{"last_name":"Okafor"}`, "last_name created"},
		{`{"last_name":"Lovelace"}`, "last_name changed"},
		{`{"last_name":""}`, "last_name deleted"},
		{`{"hedgehog_config":{"a":1}}`, "hedgehog_config created"},
		{`{"hedgehog_config":{}}`, "hedgehog_config deleted"},
		{`{"hedgehog_config":null}`, ""},
		{`{"anonymize_data":false}`, "anonymize_data created"},
		{`{"anonymize_data":true}`, "anonymize_data changed"},
		{`{"anonymize_data":null,"toolbar_mode":null}`, "anonymize_data deleted, toolbar_mode deleted"},
	} {
		before := len(w.activities())
		must(w.patch(w.as(w.ada), "@me", tt.body))(t)
		var got []string
		for _, a := range w.activities()[:len(w.activities())-before] {
			detail := decode[struct {
				Changes []struct{ Field, Action string }
			}](t, string(a.Detail))
			for _, c := range detail.Changes {
				got = append(got, c.Field+" "+c.Action)
			}
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("UpdateUser(%s) logs %q, want %q", tt.body, got, tt.want)
		}
	}
}
