package project

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/quota"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var settingsScreen = shell.Screen{
	Title: "Settings", Entry: 10, Go: "t", Path: "/settings",
	Icon: "M2 4.5h7M12.4 4.5H14M2 11.5h1.6M7 11.5h7M10.7 6.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4Z" +
		"M5.3 13.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4Z",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/settings":           showSettings,
		"POST /projects/{project}/settings":          forAdministrators(saveSettings),
		"GET /projects/{project}/settings/{action}":  askProjectAction,
		"POST /projects/{project}/settings/{action}": doProjectAction,
	},
	Done: map[string]string{
		"key-reset":       "The API key was reset.",
		"key-ended":       "The previous secret key is revoked.",
		"project-deleted": "The project was deleted.",
	},
	Undo: map[string]shell.Undoer{"Project": shell.UndoEntry(settingNames, undoProject)},
	Thing: &shell.Thing{
		Scope: "Project", One: "project", Many: "Project",
		Path: func(q *shell.Request, _ string) string { return settingsPath(q) },
	},
}

// A setting is a field of a project as the API names it.
type setting struct {
	Name, Label, Hint string
	Kind              string         // text "", check, choice, json, lines or number; "" is null but for texts
	Options           []forms.Option // of a choice; the values are JSON, "" for null

	// warns returns what would be lost for good if something else was typed, "" if nothing
	// would. The user has to save twice then. Nil: nothing is ever lost.
	warns func(was, now string) string
}

// The settings of a project. What the second list has is of use to PostHog's JavaScript SDK
// alone.
var (
	yesNo        = forms.Options("", "not set", "true", "on", "false", "off")
	mainSettings = []setting{
		{Name: "name", Label: "Name"},
		{Name: "timezone", Label: "Time zone", Hint: "For example Europe/Berlin."},
		{Name: "anonymize_ips", Label: "Do not keep the network addresses of events", Kind: "check"},
		{
			Name: "surveys_opt_in", Label: "Surveys", Hint: "Off: clients get no surveys, whatever their dates are.", Kind: "choice",
			Options: yesNo,
		},
		{Name: "event_retention_days", Label: "Days for which events are kept", Kind: "number", warns: warnOfRetention},
		{
			Name: "posthog_rules_only", Label: "Refuse rule sets that PostHog does not evaluate", Kind: "check",
			Hint: "Those about groups, cohorts, other flags and linked experiments. Flags that have them keep them.",
		},
	}
	browserSettings = []setting{
		{
			Name: "app_urls", Label: "Addresses of the application", Hint: "One in each line, such as https://app.example.com.",
			Kind: "lines",
		},
		{
			Name: "recording_domains", Label: "Addresses on which sessions may be recorded", Hint: "One in each line. None: all.",
			Kind: "lines",
		},
		{Name: "session_recording_opt_in", Label: "Recording of sessions", Kind: "choice", Options: yesNo},
		{Name: "heatmaps_opt_in", Label: "Heatmaps", Kind: "choice", Options: yesNo},
		{Name: "autocapture_exceptions_opt_in", Label: "Capture of exceptions", Kind: "choice", Options: yesNo},
		{Name: "autocapture_web_vitals_opt_in", Label: "Capture of web vitals", Kind: "choice", Options: yesNo},
		{Name: "capture_performance_opt_in", Label: "Capture of performance", Kind: "choice", Options: yesNo},
		{
			Name: "cookieless_server_hash_mode", Label: "Without cookies", Kind: "choice",
			Options: forms.Options("", "not set", "0", "off", "1", "stateless", "2", "stateful"),
		},
		{Name: "completed_snippet_onboarding", Label: "The application has been connected", Kind: "check"},
		{
			Name: "session_recording_network_payload_capture_config", Label: "What recordings keep of network requests",
			Hint: "A JSON object.", Kind: "json",
		},
	}
	allSettings  = slices.Concat(mainSettings, browserSettings)
	settingNames = func() (names []string) {
		for i := range allSettings {
			names = append(names, allSettings[i].Name)
		}
		return names
	}()
)

// text returns a value of the API as it is typed.
func (s *setting) text(raw json.RawMessage) string {
	switch s.Kind {
	case "check":
		if string(raw) == "true" {
			return "true"
		}
		return ""
	case "lines":
		return strings.Join(forms.Texts(raw), "\n")
	}
	return forms.Text(raw)
}

// value returns what was typed as a value of the API. Text that is not JSON where there
// should be some is a string, which the Service refuses.
func (s *setting) value(typed string) json.RawMessage {
	switch s.Kind {
	case "":
		return forms.Must(json.Marshal(typed))
	case "check":
		return forms.Must(json.Marshal(typed == "true"))
	case "lines":
		list := forms.LineNames(typed)
		if len(list) == 0 && s.Name == "recording_domains" {
			return json.RawMessage("null")
		}
		return forms.Must(json.Marshal(list))
	}
	switch {
	case typed == "":
		return json.RawMessage("null")
	case s.Kind == "number":
		if n, err := strconv.Atoi(typed); err == nil {
			return forms.Must(json.Marshal(n))
		}
	case json.Valid([]byte(typed)):
		return json.RawMessage(typed)
	}
	return forms.Must(json.Marshal(typed))
}

// warnOfRetention says which events are deleted if they are kept for fewer days.
func warnOfRetention(was, now string) string {
	days, err := strconv.Atoi(now)
	if before, none := strconv.Atoi(was); err != nil || days < 1 || none == nil && before <= days {
		return ""
	}
	return fmt.Sprintf("Within an hour, all events that happened more than %s ago would be deleted for good, and survey answers with "+
		"them. Save once more if that is right.", forms.Count(days, "day", "days"))
}

// A settingField is a setting as its form shows it.
type settingField struct {
	setting
	Value, Was, Error string
	Sure              string // what the user has been warned of
}

type settingsView struct {
	shell.Layout
	Tabs                 []shell.NavItem
	May                  bool // the user is an administrator
	Role, Action         string
	Main, More           []settingField
	MoreOpen             bool
	Key                  string
	HasSecret, HasBackup bool
	Usage                []usageRow
	Notice, Organization string
}

// A usageRow is a quota and how much of it is used.
type usageRow struct {
	Name, Used, Limit, Period, Share string
	Bar                              charts.Bar
}

// levelWords are the levels of members in words.
var levelWords = map[int]string{storage.LevelMember: "member", storage.LevelAdmin: "administrator", storage.LevelOwner: "owner"}

// settingsTabs are the screens of the settings.
func settingsTabs(q *shell.Request) []shell.NavItem {
	base := q.ProjectPath("/settings")
	return []shell.NavItem{
		{Name: "Project", URL: base, Current: q.URL.Path == base}, {
			Name: "Members", URL: base + "/members",
			Current: strings.HasPrefix(q.URL.Path, base+"/members"),
		},
	}
}

func settingsPath(q *shell.Request) string { return q.ProjectPath("/settings") }

func administers(q *shell.Request) bool { return q.At.Level >= storage.LevelAdmin }

// forAdministrators serves a page that does what only administrators may. The Service
// refuses others, and the answer says so in words.
func forAdministrators(p shell.Page) shell.Page {
	return func(q *shell.Request) error {
		err := p(q)
		if errors.Is(err, management.ErrForbidden) && !administers(q) {
			return shell.Failed(http.StatusForbidden, "Not allowed",
				"Nothing was changed. Administrators and owners of "+q.At.Organization.Name+" may do it; you are a "+
					levelWords[q.At.Level]+".")
		}
		return err
	}
}

func showSettings(q *shell.Request) error {
	project, err := q.Service.GetProject(q.Context(), q.By, q.Ref)
	if err != nil {
		return err
	}
	q.Notice()
	return settings(q, http.StatusOK, project, nil, nil)
}

// settings shows a project. What was typed and is not in the project yet stands in place of
// what the project has.
func settings(q *shell.Request, status int, project *management.ProjectView, typed, errs map[string]string) error {
	stored, err := settingTexts(project)
	if err != nil {
		return err
	}
	v := &settingsView{
		Tabs: settingsTabs(q), May: administers(q), Role: levelWords[q.At.Level], Action: settingsPath(q), Key: project.APIToken,
		HasSecret: project.HasSecretToken, HasBackup: project.HasSecretTokenBackup, Organization: q.At.Organization.Name,
	}
	fields := func(list []setting) (out []settingField) {
		for _, s := range list {
			f := settingField{setting: s, Value: stored[s.Name], Was: stored[s.Name], Error: errs[s.Name]}
			if s.Name == "event_retention_days" {
				f.Hint = retentionHint(q)
			}
			if text, given := typed[s.Name]; given {
				f.Value = text
			}
			if f.Error != "" && s.warns != nil && f.Error == s.warns(f.Was, f.Value) {
				f.Sure = f.Value
			}
			f.Options = slices.Clone(s.Options)
			for i := range f.Options {
				f.Options[i].Selected = f.Options[i].Value == f.Value
			}
			out = append(out, f)
		}
		return out
	}
	v.Main, v.More = fields(mainSettings), fields(browserSettings)
	for _, f := range v.More {
		v.MoreOpen = v.MoreOpen || f.Error != ""
	}
	if len(errs) > 0 {
		v.Notice = "Nothing is saved yet: look at what is marked below. What you have typed is still here."
	}
	for _, u := range q.Config.Usage(q.At.Organization.ID) {
		v.Usage = append(v.Usage, usageOf(u))
	}
	return q.Render(status, "settings", v)
}

// retentionHint says for how long events are kept if the project does not say it.
func retentionHint(q *shell.Request) string {
	if q.Config.Retain == 0 {
		return "Older events are deleted. Empty: events are kept for ever."
	}
	days := forms.Count(int(q.Config.Retain/(24*time.Hour)), "day", "days")
	return "Older events are deleted. Empty: " + days + ", which is the limit of this server. More has no effect."
}

var periodWords = map[quota.Period]string{quota.Month: "this month", quota.Day: "today"}

func usageOf(u shell.Usage) usageRow {
	row := usageRow{Name: u.Name, Used: forms.Number(int(u.Used)), Limit: "no limit", Period: cmp.Or(periodWords[u.Period], "in all")}
	if u.Limit == quota.None {
		return row
	}
	row.Limit = forms.Number(int(u.Limit))
	share := 100.0
	if u.Limit > 0 {
		share = math.Floor(min(100, float64(u.Used)*100/float64(u.Limit))) // the limit is reached at 100
	}
	class := "other"
	if share == 100 {
		class = "lose"
	}
	row.Bar.Add(row.Bar.Add(0, share, class, "used"), 100-share, "same", "left")
	row.Share = forms.Percent(share)
	return row
}

// settingTexts returns the settings of a project as they are typed, by name.
func settingTexts(project *management.ProjectView) (map[string]string, error) {
	raw, err := json.Marshal(project)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for i := range allSettings {
		s := &allSettings[i]
		out[s.Name] = s.text(members[s.Name])
	}
	return out, nil
}

// saveSettings changes the settings that the user has changed, and no others: two people
// may change different ones at once. One that somebody else has changed since the page was
// loaded is shown first.
func saveSettings(q *shell.Request) error {
	project, err := q.Service.GetProject(q.Context(), q.By, q.Ref)
	if err != nil {
		return err
	}
	stored, err := settingTexts(project)
	if err != nil {
		return err
	}
	typed, errs, warnings := make(map[string]string), make(map[string]string), make(map[string]string)
	changes := make(map[string]json.RawMessage)
	for i := range allSettings {
		s := &allSettings[i]
		now, was := forms.Lines(q.PostForm.Get(s.Name)), forms.Lines(q.PostForm.Get("was."+s.Name))
		if s.Kind == "number" {
			now = strings.TrimSpace(now)
		}
		if now == was || now == stored[s.Name] {
			continue
		}
		typed[s.Name] = now
		if stored[s.Name] != was {
			errs[s.Name] = "Somebody else has changed this meanwhile, to: " + s.words(stored[s.Name]) +
				". Save once more to have yours instead, or leave the page to keep theirs."
			continue
		}
		changes[s.Name] = s.value(now)
		if s.warns != nil && q.PostForm.Get("sure."+s.Name) != now {
			if warning := s.warns(was, now); warning != "" {
				warnings[s.Name] = warning
			}
		}
	}
	if len(errs) > 0 {
		return settings(q, http.StatusConflict, project, typed, errs)
	}
	if len(warnings) > 0 {
		return settings(q, http.StatusUnprocessableEntity, project, typed, warnings)
	}
	body := forms.Must(json.Marshal(changes))
	var patch management.ProjectPatch
	if err := json.Unmarshal(body, &patch); err != nil {
		return err
	}
	_, err = q.Service.UpdateProject(q.Context(), q.By, q.Ref, patch)
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) && e.Attr != "" {
		return settings(q, http.StatusUnprocessableEntity, project, typed, map[string]string{e.Attr: e.Text()})
	}
	if err != nil {
		return err
	}
	u := shell.Undo{}
	if len(changes) > 0 {
		u = q.EntryUndo("Project", strconv.FormatInt(project.ID, 10))
	}
	return q.Done(settingsPath(q), "saved", u)
}

// words says what was typed, or is stored, to somebody who has typed something else.
func (s *setting) words(typed string) string {
	if s.Kind == "check" && typed == "" {
		return "no"
	}
	otherwise := "“" + forms.Shorten(typed, 80) + "”"
	switch typed {
	case "":
		otherwise = "nothing"
	case "true":
		otherwise = "yes"
	}
	return forms.LabelOf(s.Options, typed, otherwise)
}

// A projectAction changes the keys of a project, or deletes it. It is asked for first.
type projectAction struct {
	title, button string
	text          []string
	typed         bool // the name of the project has to be typed
	do            func(*shell.Request) error
}

var projectActions = map[string]projectAction{
	"reset-key": {
		title: "Reset the API key?", button: "Reset the key",
		text: []string{
			"All programs that use the key, in browsers and on phones as well, get no flags any more until they have the new one, and " +
				"their events are lost.",
			shell.CannotBeUndone,
		},
		do: func(q *shell.Request) error {
			if _, err := q.Service.ResetToken(q.Context(), q.By, q.Ref); err != nil {
				return err
			}
			return q.Redirect(settingsPath(q) + "?done=key-reset")
		},
	},
	"rotate-secret": {
		title: "Rotate the secret key?", button: "Rotate the key",
		text: []string{
			"The new key is shown once. The key that is in use now stays good beside it, until you end it or make another one; a key " +
				"before that one ends at once. This cannot be undone: a key that was ended does not come back.",
		},
		do: func(q *shell.Request) error {
			project, err := q.Service.RotateSecretToken(q.Context(), q.By, q.Ref)
			if err != nil {
				return err
			}
			return q.ShowOnce("The new secret key", &shell.ShownView{
				Text: "Copy it now: it is not shown again. Give it only to servers that evaluate flags themselves. The previous key " +
					"works until you revoke it.",
				Label: "Secret key", Value: *project.SecretToken, Back: settingsPath(q), BackName: "I have copied it",
			})
		},
	},
	"end-secret": {
		title: "Revoke the previous secret key?", button: "Revoke it",
		text: []string{"Programs that still have it get no definitions any more.", shell.CannotBeUndone},
		do: func(q *shell.Request) error {
			if _, err := q.Service.DeleteSecretTokenBackup(q.Context(), q.By, q.Ref); err != nil {
				return err
			}
			return q.Redirect(settingsPath(q) + "?done=key-ended")
		},
	},
	"delete": {
		title: "Delete the project?", button: "Delete it with everything in it", typed: true,
		text: []string{
			"All its flags, cohorts, surveys, persons and events are deleted with it, for good. Its keys end: programs that use them " +
				"get no flags.",
			shell.CannotBeUndone,
		},
		do: func(q *shell.Request) error {
			if err := q.Service.DeleteProject(q.Context(), q.By, q.Ref); err != nil {
				return err
			}
			return q.Redirect(q.Config.Prefix + "/projects?done=project-deleted")
		},
	},
}

// projectAction returns what a path asks for, and the state of the project that the page
// was made for.
func actionOf(q *shell.Request) (*projectAction, string, error) {
	a, ok := projectActions[q.PathValue("action")]
	if !ok {
		return nil, "", shell.ErrNoPage
	}
	project, err := q.Service.GetProject(q.Context(), q.By, q.Ref)
	if err != nil {
		return nil, "", err
	}
	return &a, strconv.FormatInt(project.UpdatedAt.UnixMicro(), 10), nil
}

func askProjectAction(q *shell.Request) error {
	a, state, err := actionOf(q)
	if err != nil {
		return err
	}
	return askProject(q, http.StatusOK, a, state, "")
}

func askProject(q *shell.Request, status int, a *projectAction, state, refusal string) error {
	v := &shell.ConfirmView{
		Text: a.text, Button: a.button, Danger: a.typed, Cancel: settingsPath(q), Hidden: []forms.Hidden{{Name: "state", Value: state}},
		Refusal: refusal,
		Typed:   q.PostForm.Get("typed"),
	}
	if a.typed {
		v.Word = q.At.Project.Name
	}
	if !administers(q) {
		v.Button, v.Word, v.Refusal = "", "", "Only administrators and owners of "+q.At.Organization.Name+" may do this."
		status = http.StatusForbidden
	}
	return q.Confirm(status, a.title, v)
}

func doProjectAction(q *shell.Request) error {
	a, state, err := actionOf(q)
	if err != nil {
		return err
	}
	switch {
	case !administers(q): // the Service would say the same
		return askProject(q, http.StatusForbidden, a, state, "")
	case q.PostForm.Get("state") != state: // a page that is sent again makes no second key
		return askProject(q, http.StatusConflict, a, state,
			"The project has changed since this page was loaded. Nothing was done; look whether you still want to.")
	case a.typed && q.PostForm.Get("typed") != q.At.Project.Name:
		return askProject(q, http.StatusUnprocessableEntity, a, state, "Type the name of the project as it stands here.")
	}
	return a.do(q)
}

func undoProject(q *shell.Request, e *management.ActivityView, before forms.Object) (to, item string, err error) {
	for i := range allSettings {
		s := &allSettings[i]
		if raw := before[s.Name]; raw != nil {
			before[s.Name] = s.value(s.text(raw)) // the log has null for what is empty
		}
	}
	patch, err := shell.DecodePatch[management.ProjectPatch](before)
	if err == nil {
		_, err = q.Service.UpdateProject(q.Context(), q.By, q.Ref, patch)
	}
	return "", e.ItemID, err
}
