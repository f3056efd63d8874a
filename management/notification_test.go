package management_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
)

// The defaults of management.md §4.6, in its order.
const defaultNotifications = `{"plugin_disabled":true,"error_tracking_issue_assigned":true,"error_tracking_weekly_digest":true,` +
	`"discussions_mentioned":true,"project_weekly_digest_disabled":{},"all_weekly_digest_disabled":false,"data_pipeline_error_threshold":0.01,` +
	`"project_api_key_exposed":true,"materialized_view_sync_failed":false,"web_analytics_weekly_digest":true,` +
	`"organization_member_join_email_disabled":{}}`

func TestNotificationDefaults(t *testing.T) {
	w := newWorld(t)
	if got := string(w.view(w.ada).NotificationSettings); got != defaultNotifications {
		t.Errorf("notification_settings %s, want %s", got, defaultNotifications)
	}
}

// Changes are merged with what was there: at the top level, and in objects entry by
// entry.
func TestNotificationsMerge(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ change, want string }{ // want has what is not a default
		{`{}`, `{}`},
		{`{"plugin_disabled":false}`, `{"plugin_disabled":false}`},
		{`{"data_pipeline_error_threshold":0.5}`, `{"plugin_disabled":false,"data_pipeline_error_threshold":0.5}`},
		{`{"data_pipeline_error_threshold":1, "plugin_disabled":true}`, `{"data_pipeline_error_threshold":1}`},
		{`{"data_pipeline_error_threshold":0.01}`, `{}`},
		{`{"project_weekly_digest_disabled":{"1":true,"2":false}}`, `{"project_weekly_digest_disabled":{"1":true,"2":false}}`},
		{`{"project_weekly_digest_disabled":{"2":true,"3":true}}`, `{"project_weekly_digest_disabled":{"1":true,"2":true,"3":true}}`},
		{`{"project_weekly_digest_disabled":{}}`, `{"project_weekly_digest_disabled":{"1":true,"2":true,"3":true}}`},
		{
			`{"realtime_notifications_disabled":{"mention":{"1":true},"alert":{"1":true}}}`,
			`{"project_weekly_digest_disabled":{"1":true,"2":true,"3":true},"realtime_notifications_disabled":{"alert":{"1":true},"mention":{"1":true}}}`,
		},
		{
			`{"realtime_notifications_disabled":{"mention":{"2":true}}}`,
			`{"project_weekly_digest_disabled":{"1":true,"2":true,"3":true},"realtime_notifications_disabled":{"alert":{"1":true},"mention":{"1":true,"2":true}}}`,
		},
	} {
		view, err := w.patch(w.as(w.ada), "@me", `{"notification_settings":`+tt.change+`}`)
		if err != nil {
			t.Fatalf("UpdateUser(%s) = %v", tt.change, err)
		}
		want := decode[map[string]any](t, defaultNotifications)
		maps.Copy(want, decode[map[string]any](t, tt.want))
		if diff := cmp.Diff(want, decode[map[string]any](t, string(view.NotificationSettings))); diff != "" {
			t.Errorf("notification_settings after %s (-want +got)\n%s", tt.change, diff)
		}
	}
	if got := string(w.view(w.ben).NotificationSettings); got != defaultNotifications {
		t.Errorf("notification_settings of somebody else %s, want %s", got, defaultNotifications)
	}
}

func TestNotificationErrors(t *testing.T) {
	w := newWorld(t)
	// many returns an object of n entries.
	many := func(prefix string, n int) string {
		entries := make([]string, n)
		for i := range entries {
			entries[i] = fmt.Sprintf(`"%s%d":true`, prefix, i)
		}
		return "{" + strings.Join(entries, ",") + "}"
	}
	for _, change := range []string{
		`{"plugin_disabled":null}`, `{"plugin_disabled":"true"}`, `{"plugin_disabled":1}`, `{"plugin_disabled":{}}`,
		`{"all_weekly_digest_disabled":[]}`,
		`{"data_pipeline_error_threshold":"0.5"}`, `{"data_pipeline_error_threshold":true}`, `{"data_pipeline_error_threshold":null}`,
		`{"data_pipeline_error_threshold":-0.1}`, `{"data_pipeline_error_threshold":1.01}`, `{"data_pipeline_error_threshold":1e400}`,
		`{"data_pipeline_error_threshold":{}}`,
		`{"project_weekly_digest_disabled":true}`, `{"project_weekly_digest_disabled":null}`, `{"project_weekly_digest_disabled":[]}`,
		`{"project_weekly_digest_disabled":{"1":"true"}}`, `{"project_weekly_digest_disabled":{"1":1}}`, `{"project_weekly_digest_disabled":{"1":null}}`,
		`{"organization_member_join_email_disabled":{"1":{}}}`,
		`{"pipeline_notifications_disabled":{"other:1":true}}`, `{"pipeline_notifications_disabled":{"hog_function:":true}}`,
		`{"pipeline_notifications_disabled":{"xhog_function:1":true}}`,
		`{"pipeline_notifications_disabled":` + many("hog_function:", 1001) + `}`,
		`{"project_weekly_digest_disabled":` + many("", 1001) + `}`,
		`{"realtime_notifications_disabled":{"mention":true}}`, `{"realtime_notifications_disabled":{"mention":{"1":0}}}`,
		`{"realtime_notifications_disabled":[]}`,
		`{"plugin_disabled":0,"x":1}`,
	} {
		before := w.now(w.ada)
		_, err := w.patch(w.as(w.ada), "@me", `{"notification_settings":`+change+`}`)
		checkFault(t, fmt.Sprintf("UpdateUser(%.80s)", change), err, "invalid invalid_input notification_settings")
		if diff := cmp.Diff(before, w.now(w.ada)); diff != "" {
			t.Errorf("UpdateUser(%.80s) has changed (-before +after)\n%s", change, diff)
		}
	}
	for _, change := range []string{
		`{"pipeline_notifications_disabled":{"hog_function:1":true,"batch_export:a-b":false,"plugin_config:7":true}}`,
		`{"pipeline_notifications_disabled":` + many("hog_function:", 1000) + `}`,
		`{"error_tracking_weekly_digest_project_enabled":{"1":true},"web_analytics_weekly_digest_project_enabled":{"1":false}}`,
		`{"data_pipeline_error_threshold":0}`, `{"data_pipeline_error_threshold":1.0}`, `{"data_pipeline_error_threshold":5e-1}`,
	} {
		_, err := w.patch(w.as(w.ada), "@me", `{"notification_settings":`+change+`}`)
		checkFault(t, fmt.Sprintf("UpdateUser(%.80s)", change), err, "")
	}
}

// All settings together have a limit, since each request adds to them.
func TestNotificationsDoNotGrow(t *testing.T) {
	w := newWorld(t)
	for i := range 100 {
		entry := fmt.Sprintf(`{"notification_settings":{"project_weekly_digest_disabled":{"%d%s":true}}}`, i, strings.Repeat("9", 1000))
		if _, err := w.patch(w.as(w.ada), "@me", entry); err != nil {
			checkFault(t, "UpdateUser", err, "invalid invalid_input notification_settings")
			if n := len(w.now(w.ada).Notifications); n < 60<<10 || n > 64<<10 {
				t.Errorf("%d bytes are stored", n)
			}
			return
		}
	}
	t.Error("there is no limit")
}

// Host applications can have settings of their own (management.md §4.6).
func TestOwnNotifications(t *testing.T) {
	w := newWorld(t, func(c *management.Config) {
		c.NotificationKeys = []management.NotificationKey{
			{Name: "host_bool", Kind: "boolean", Default: json.RawMessage("true")},
			{Name: "host_fraction", Kind: "fraction"},
			{Name: "host_bools", Kind: "booleans", Default: json.RawMessage(`{"a":true}`)},
			{Name: "host_maps", Kind: "boolean_maps"},
		}
	})
	settings := func(change string) string {
		t.Helper()
		view, err := w.patch(w.as(w.ada), "@me", `{"notification_settings":`+change+`}`)
		checkFault(t, "UpdateUser("+change+")", err, "")
		_, own, _ := strings.Cut(string(view.NotificationSettings), `,"host_bool"`)
		return `{"host_bool"` + own
	}
	for _, tt := range []struct{ change, want string }{
		{`{}`, `{"host_bool":true,"host_bools":{"a":true}}`},
		{`{"host_bool":false}`, `{"host_bool":false,"host_bools":{"a":true}}`},
		{`{"host_maps":{"x":{"1":true},"y":{}}}`, `{"host_bool":false,"host_bools":{"a":true},"host_maps":{"x":{"1":true},"y":{}}}`},
		{`{"host_maps":{"x":{"2":true}},"host_fraction":0.5}`, `{"host_bool":false,"host_fraction":0.5,"host_bools":{"a":true},"host_maps":{"x":{"1":true,"2":true},"y":{}}}`},
	} {
		if got := settings(tt.change); got != tt.want {
			t.Errorf("settings after %s: %s, want %s", tt.change, got, tt.want)
		}
	}
	for _, change := range []string{`{"host_bool":1}`, `{"host_fraction":2}`, `{"host_bools":{"a":1}}`, `{"host_maps":{"a":true}}`} {
		_, err := w.patch(w.as(w.ada), "@me", `{"notification_settings":`+change+`}`)
		checkFault(t, "UpdateUser("+change+")", err, "invalid invalid_input notification_settings")
	}
	// After a restart without them nothing knows them, and they are kept.
	other := w.another(func(*management.Config) {})
	want := strings.TrimSuffix(defaultNotifications, "}") + `,"host_bool":false,"host_fraction":0.5,"host_maps":{"x":{"1":true,"2":true},"y":{}}}`
	if got := string(other.view(w.ada).NotificationSettings); got != want {
		t.Errorf("without own settings %s, want %s", got, want)
	}
}

// Settings that nothing knows are kept as they are sent, up to a limit, and the known
// ones keep their types (management.md §4.6).
func TestRuling49OtherNotifications(t *testing.T) {
	w := newWorld(t)
	change := func(body string) (string, error) {
		t.Helper()
		view, err := w.patch(w.as(w.ada), "@me", `{"notification_settings":`+body+`}`)
		if err != nil {
			return "", err
		}
		if stored := string(w.view(w.ada).NotificationSettings); stored != string(view.NotificationSettings) {
			t.Errorf("stored %s, answered %s", stored, view.NotificationSettings)
		}
		known, own, _ := strings.Cut(string(view.NotificationSettings), `,"organization_member_join_email_disabled":{}`)
		if !strings.Contains(known, `"plugin_disabled":true`) {
			t.Errorf("known settings %s", known)
		}
		return "{" + strings.TrimPrefix(own, ","), nil
	}
	for _, tt := range []struct{ change, want string }{
		{`{"x":true}`, `{"x":true}`},
		{`{"deep":{"b":[1.50,null,{"c":"ü"}],"a":1e400}}`, `{"deep":{"b":[1.50,null,{"c":"ü"}],"a":1e400},"x":true}`},
		{`{"deep":{"other":1},"x":null}`, `{"deep":{"other":1},"x":null}`}, // replaced, not merged
		{`{"PLUGIN_DISABLED":7,"":"","☂":[]}`, `{"":"","PLUGIN_DISABLED":7,"deep":{"other":1},"x":null,"☂":[]}`},
	} {
		if got, err := change(tt.change); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.change, got, err, tt.want)
		}
	}
	_, err := change(`{"x":1,"plugin_disabled":"no"}`)
	checkFault(t, "a known setting of the wrong type", err, "invalid invalid_input notification_settings")

	w = newWorld(t)
	for i := range 100 {
		if _, err := change(fmt.Sprintf(`{"k%d":%d}`, i, i)); err != nil {
			t.Fatalf("setting %d: %v", i, err)
		}
	}
	_, err = change(`{"k100":1}`)
	checkFault(t, "101 settings", err, "invalid invalid_input notification_settings")
	_, err = change(`{"k99":2}`)
	checkFault(t, "a setting that is there", err, "")

	w = newWorld(t)
	_, err = change(`{"k":` + document(8<<10-1) + `}`)
	checkFault(t, "8 KiB", err, "")
	_, err = change(`{"l":1}`)
	checkFault(t, "more than 8 KiB", err, "invalid invalid_input notification_settings")
	_, err = change(`{"k":1}`)
	checkFault(t, "less again", err, "")
}

func TestOwnNotificationsMustMakeSense(t *testing.T) {
	for name, keys := range map[string][]management.NotificationKey{
		"no name":           {{Kind: "boolean"}},
		"no kind":           {{Name: "a"}},
		"unknown kind":      {{Name: "a", Kind: "text"}},
		"a name that is":    {{Name: "plugin_disabled", Kind: "boolean"}},
		"a name twice":      {{Name: "a", Kind: "boolean"}, {Name: "a", Kind: "booleans"}},
		"another default":   {{Name: "a", Kind: "boolean", Default: json.RawMessage(`"x"`)}},
		"no JSON":           {{Name: "a", Kind: "booleans", Default: json.RawMessage(`{`)}},
		"too large default": {{Name: "a", Kind: "fraction", Default: json.RawMessage(`2`)}},
	} {
		if s, err := management.New(management.Config{Store: newWorld(t).store, NotificationKeys: keys}); err == nil {
			t.Errorf("New with %s = %v, want an error", name, s)
		}
	}
}
