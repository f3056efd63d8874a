package console

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
		{"Go", `client, err := flagstaff.Open(ctx, flagstaff.Config{URL: "` + url + `", ProjectKey: "` + key + `", SecretKey: secret})
ada := client.For(&flags.Request{DistinctID: "ada"})
if ada.Bool("my-flag", false) { … }`},
		{"JavaScript", `posthog.init("` + key + `", { api_host: "` + url + `" })
posthog.onFeatureFlags(() => {
  if (posthog.isFeatureEnabled("my-flag")) { … }
})`},
		{"Python", `posthog = Posthog("` + key + `", host="` + url + `")
if posthog.feature_enabled("my-flag", "ada"):
    …`},
		{"curl", `curl '` + url + `/flags?v=2' -H 'Content-Type: application/json' \
  -d '{"api_key": "` + key + `", "distinct_id": "ada"}'`},
	}
}
