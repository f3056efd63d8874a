// Package server answers the API over net/http: it evaluates flags, delivers what
// else clients need, takes events if it has a [Collector], and manages accounts and
// projects if it has a [management.Service].
//
//	projects := new(server.Registry)
//	projects.Set("phc_demo", &server.Project{ID: 1, Name: "Demo", Flags: &evaluator})
//	s, err := server.New(server.Config{Projects: projects})
//	http.ListenAndServe("127.0.0.1:8000", s)
//
// A [Server] is an [http.Handler]: it opens no port, starts no goroutine and keeps
// nothing beyond its requests. The [http.Server] around it sets
// timeouts, which the Server extends for long bodies and answers.
// [http.StripPrefix] mounts it below a prefix.
//
// # Routes
//
// Each route is served with and without a trailing slash and never redirects.
//
//	POST      /flags                  the API
//	POST      /decide                 its older name, with older response forms
//	GET       /array/{key}/config     client configuration
//	GET       /array/{key}/config.js  the same as a script
//	GET POST  /api/surveys            surveys
//	GET POST  /api/early_access_features
//	GET       /healthz /readyz        for operators
//	GET       /metrics                for operators
//	GET       /api/schema             the OpenAPI document of all routes
//	GET       /api/docs               the same as a page
//
// The routes of OpenFeature's remote evaluation protocol exist if [Config.OFREP] is
// true:
//
//	POST      /ofrep/v1/evaluate/flags        all flags
//	POST      /ofrep/v1/evaluate/flags/{key}  one flag
//	GET       /ofrep/v1/streams/{stream}      tells of changes
//
// The routes for events exist if there is a [CaptureConfig.Collector]:
//
//	POST GET  /i/v0/e /batch          events: one, an array, or a batch
//	POST      /i/v0/ai/batch          the same
//	POST GET  /e /capture /track      the same, base64 in base64 included
//	POST GET  /engage                 the same, and person updates
//	POST      /s                      recordings, which are discarded
//	POST      /i/v1/analytics/events  events, with a result for each
//	GET       / /_liveness /_readiness
//
// The routes of the management API, below /api/, exist if there is a
// [ManagementConfig.Service]; api_routes.go, api_managed.go, api_flags.go,
// api_cohorts.go and api_surveys.go list them. The routes of surveys need
// [ManagementConfig.Surveys] as well. With a Service there are also definitions:
//
//	GET       /flags/definitions
//	GET       /api/feature_flag/local_evaluation                         an older name
//	GET       /api/projects/{project}/feature_flags/local_evaluation     the same
//	GET       /api/projects/{project}/feature_flags/{id}/remote_config   a payload
//
// the manifest, from which tools of OpenFeature generate code, also below
// /api/projects/{project}:
//
//	GET         /openfeature/v0/manifest
//	POST        /openfeature/v0/manifest/flags
//	PUT DELETE  /openfeature/v0/manifest/flags/{flag}
//
// and a page to which the links of invitations lead:
//
//	GET POST  /signup/{token}               accepts an invitation
//
// If the Service can send mail, there are also the pages to which links in mails
// lead:
//
//	GET POST  /verify_email/{user}/{token}
//	GET POST  /reset_password/{token}       chooses another password
//
// # What a request costs
//
// Flags are evaluated from the project's current [flags.Snapshot], without I/O.
// [Config.Store] is asked only when a flag that the request may see looks at
// something that the request does not carry. If the store fails, the answer is
// computed without its data and says so in errorsWhileComputingFlags.
//
// # Published
//
// What clients fetch besides values is rendered when it changes, not for each
// request: a program turns a [Publication] into a [Published] and gives it to a
// [Project]. Package catalog does this for the projects of a management store. A
// Project without Published offers its ClientConfig, but no surveys and no early
// access features, and definitions have status 503. Each answer has an entity tag, which
// is a hash of the body alone: it is the same in every process and after a restart.
//
// Clients react strongly to errors: they drop all flags after 402, and some clients
// after 401. So 402 means only that the [Config.Quota] is used up, and 401 means only
// that the key is wrong.
//
// # Event streams
//
// A server whose [Config.Projects] are a [*Registry] tells clients of each
// [flags.Evaluator.Swap] of a [Project] that changes the entity tag of its snapshot; a
// program that also publishes definitions does so before. Each stream is a request that
// does not end: it takes a connection and the two goroutines of net/http, and the deadlines
// of the [http.Server] do not hold for it. [Server.CloseStreams] ends all of them, which
// [http.Server.Shutdown] waits for.
//
// # Events
//
// Package capture reads the events of a body. The server adds to them the client's
// address as $ip, unless the project is anonymous, the place from [Config.Geo], and
// browser, system and device of the User-Agent; it never replaces properties. A client
// gets a success when the Collector has stored its events durably. It is told to send
// them again when that fails or takes longer than [CaptureConfig.Timeout]. Events beyond
// the [CaptureConfig.Quota] are dropped; only the newest route says so.
//
// # The management API
//
// The [management.Service], and for surveys the [survey.Service], decides what a user may
// do and which values are allowed. This package finds out which user sends a request and
// with which body, and writes what the Service answers.
//
// The user is known from a personal API key, as Authorization: Bearer phx_…, or from
// the host application, whose [ManagementConfig.AuthFunc] is asked first. Checks come
// in the order of management.md §2.5: user, rate, method, body; then the checks of
// the Service. Members of static cohorts are stored while their list arrives: after an
// error, the elements before it are members. The document of an import is read as a whole.
//
// Routes that need a key or a session differ from public ones: they believe only
// listed proxies, are limited unless [ManagementConfig.Limit] says otherwise, and
// are closed to pages of other origins unless [ManagementConfig.Origins] lists
// them.
//
// # Limits and errors
//
// An answer that cannot be finished is cut off, so that no client takes it for
// whole.
//
// Bodies are limited before and after decompression, and read into memory that
// requests reuse. The memory that bodies, their events and long answers take, windows
// of decompressors included, is charged to [Config.MaxBodyMemory] until the request
// ends; when it is used up, the answer is 503. In all, one request allocates at most
// 64 times the MaxDecoded of events and 32 MiB; tests hold it to this.
//
// Bodies and answers of any length may take any time as long as 4 KiB move within
// 10 s, whatever the timeouts of the [http.Server] say. The rest of a body that is
// refused early is read after the answer, within limits, so that the client gets the
// answer.
//
// Logs and answers of public routes never contain API keys, properties, or parts of a body,
// except the name and type of a field that is wrong, and a number or UUID in its place, and
// one character where a body stops being JSON; and the value of a parameter that is wrong. A
// panic is logged with the type of its value and answered with status 500.
//
// The rules are in api.md, evaluation.md §8 to §11 and §14, wire.md §1, §2, §4, §5
// and §7, and management.md §0 to §13, in docs/spec; comments cite them.
package server
