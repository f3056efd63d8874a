package flags

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var connectScreen = shell.Screen{
	Title: "Connect a program", Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/connect": connect},
}

// A connectView is how programs are connected with a project, and what has come of them.
type connectView struct {
	shell.Layout
	connection
	Flags string // the list of flags
}

// A connection is what the page about connecting and an empty list of flags have in common.
type connection struct {
	Snippets    []snippet
	Watched     bool         // whether programs ask for flags is known
	LastRequest shell.Moment // when one last did; empty if none has
	Event       bool         // an event has come
	Waits       bool         // for what has not come yet
}

func connectionOf(q *shell.Request) connection {
	v := connection{Snippets: snippets(q, nil), Watched: q.Config.Status != nil, Event: q.At.Project.IngestedEvent}
	if v.Watched {
		if at := q.Config.Status(q.Context(), q.At.Project.ID).LastRequest; !at.IsZero() {
			v.LastRequest = q.Moment(at)
		}
	}
	v.Waits = !v.Event || v.Watched && v.LastRequest.Words == ""
	return v
}

func connect(q *shell.Request) error {
	return q.Render(http.StatusOK, "connect", &connectView{connection: connectionOf(q), Flags: q.ProjectPath("/flags")})
}

// A snippet is the lines that connect a program with the server.
type snippet struct{ Name, Code string }

// snippets returns how programs ask for flags of the project, in several languages, or for one
// flag, in Go and with curl. The project's API key is public.
func snippets(q *shell.Request, f *management.FlagView) []snippet {
	url, key := q.Origin(), q.At.Project.APIKey
	ada, only, form := `ada := client.For(&flags.Request{DistinctID: "ada"})
`, "", "2"
	if f != nil {
		name, runtime := quoted(f.Key), ""
		if f.Runtime == "client" { // which curl is not
			runtime = `,
       "evaluation_runtime": "client"`
		}
		only = `,
       "flag_keys": [` + name + "]" + runtime
		switch set := f.Filters.RuleSet; {
		case set != nil:
			form = "3"
			ada += typedLine(set.ReturnType, name)
		case f.RemoteConfig:
			ada += "err := ada.Payload(" + name + ", &config)"
		case f.Filters.Multivariate != nil && len(f.Filters.Multivariate.Variants) > 0:
			ada += "switch ada.Variant(" + name + ", " + quoted(f.Filters.Multivariate.Variants[0].Key) + ") { … }"
		default:
			ada += "if ada.Bool(" + name + ", false) { … }"
		}
	}
	curl := snippet{"curl", `curl '` + url + `/flags?v=` + form + `' \
  -H 'Content-Type: application/json' \
  -d '{"api_key": "` + key + `",
       "distinct_id": "ada"` + only + `}'`}
	if f != nil {
		return []snippet{{"Go", ada}, curl}
	}
	return []snippet{
		{"Go", `client, err := flagstaff.Open(ctx, flagstaff.Config{
	URL:        "` + url + `",
	ProjectKey: "` + key + `",
	SecretKey:  secret,
})
` + ada + `if ada.Bool("my-flag", false) { … }`},
		{"JavaScript", `posthog.init("` + key + `",
  { api_host: "` + url + `" })
posthog.onFeatureFlags(() => {
  if (posthog.isFeatureEnabled("my-flag")) { … }
})`},
		{"Python", `posthog = Posthog("` + key + `",
    host="` + url + `")
if posthog.feature_enabled("my-flag", "ada"):
    …`},
		curl,
	}
}

// typedLine is how a Go program asks for a value of a rule set.
func typedLine(kind, name string) string {
	switch kind {
	case "string":
		return "text := ada.String(" + name + `, "fallback")`
	case "number":
		return "n := ada.Float(" + name + ", 0)"
	case "object":
		return "err := ada.JSON(" + name + ", &config)"
	}
	return "if ada.Bool(" + name + ", false) { … }"
}

// quoted returns a text as Go and JSON quote it, also within the quotes of a shell.
func quoted(text string) string {
	return strings.ReplaceAll(string(forms.Must(json.Marshal(text))), "'", `\u0027`)
}
