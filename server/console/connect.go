package console

import "net/http"

var _ = register(screen{
	title: "Connect a program", under: "Flags",
	scope: inProject, pages: map[string]page{"GET /projects/{project}/connect": connect},
})

// A connectView is how programs are connected with a project, and what has come of them.
type connectView struct {
	layout
	connection
	Flags string // the list of flags
}

// A connection is what the page about connecting and an empty list of flags have in common.
type connection struct {
	Snippets []snippet
	Watched  bool   // whether programs ask for flags is known
	Asked    moment // when one last did; empty if none has
	Event    bool   // an event has come
	Waits    bool   // for what has not come yet
}

func (q *request) connection() connection {
	v := connection{Snippets: q.snippets(), Watched: q.c.Status != nil, Event: q.at.Project.IngestedEvent}
	if v.Watched {
		if at := q.c.Status(q.Context(), q.at.Project.ID).Asked; !at.IsZero() {
			v.Asked = q.c.moment(at)
		}
	}
	v.Waits = !v.Event || v.Watched && v.Asked.Words == ""
	return v
}

func connect(q *request) error {
	return q.render(http.StatusOK, "connect", &connectView{connection: q.connection(), Flags: q.projectPath("/flags")})
}

// A snippet is the lines that connect a program with the server.
type snippet struct{ Name, Code string }

// origin returns where programs reach the server.
func (q *request) origin() string {
	if q.c.URL != "" {
		return q.c.URL
	}
	if q.TLS != nil {
		return "https://" + q.Host
	}
	return "http://" + q.Host
}

// snippets returns how programs ask for flags of the project, in several languages. The
// project's API key is public.
func (q *request) snippets() []snippet {
	url, key := q.origin(), q.at.Project.APIKey
	return []snippet{
		{"Go", `client, err := flagstaff.Open(ctx, flagstaff.Config{
	URL:        "` + url + `",
	ProjectKey: "` + key + `",
	SecretKey:  secret,
})
ada := client.For(&flags.Request{DistinctID: "ada"})
if ada.Bool("my-flag", false) { … }`},
		{"JavaScript", `posthog.init("` + key + `",
  { api_host: "` + url + `" })
posthog.onFeatureFlags(() => {
  if (posthog.isFeatureEnabled("my-flag")) { … }
})`},
		{"Python", `posthog = Posthog("` + key + `",
    host="` + url + `")
if posthog.feature_enabled("my-flag", "ada"):
    …`},
		{"curl", `curl '` + url + `/flags?v=2' \
  -H 'Content-Type: application/json' \
  -d '{"api_key": "` + key + `",
       "distinct_id": "ada"}'`},
	}
}
