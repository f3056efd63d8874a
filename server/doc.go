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
// and api_cohorts.go list them. Other packages add [ManagementConfig.Routes], such as package
// surveys. With a Service there are also definitions:
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
// # Lifetimes
//
// A Server keeps nothing of a request beyond its end, but for memory that it reuses. It
// finishes each request with the [flags.Snapshot] with which it began. [Config.Store] is
// asked only when a flag that the request may see needs data that the request does not
// carry; if the store fails, the answer is computed without it and says so in
// errorsWhileComputingFlags. An answer that cannot be finished is cut off, so that no
// client takes it for whole. A panic ends one request with status 500.
//
// Surveys, early access features, client configuration and definitions are rendered when
// they change: a program turns a [Publication] into a [Published] and gives it to a
// [Project]. Package catalog does this for the projects of a management store. Until then
// a Project offers its ClientConfig, no surveys and no early access features, and 503 for
// definitions. An entity tag is a hash of what is answered, and so the same in every
// process and after a restart; for a client that names it the answer is 304. Clients and
// caches may keep surveys and early access features for one minute and client
// configuration for five.
//
// An event stream is a request that does not end. A server whose [Config.Projects] are a
// [*Registry] tells its clients of each [flags.Evaluator.Swap] of a [Project] that changes
// the entity tag of its snapshot; a program that also publishes definitions does so before.
// A stream takes a connection and the two goroutines of net/http; the deadlines of the
// [http.Server] do not hold for it. [Server.CloseStreams] ends all streams, for which
// [http.Server.Shutdown] waits.
//
// An event is acknowledged when the Collector has stored it durably. Its client is asked to
// send it again when that fails or takes longer than [CaptureConfig.Timeout]. Events beyond
// the [CaptureConfig.Quota] are dropped; only the newest route says so.
//
// A change of the management API is in force before its answer. Which user sends a request
// is looked up each time, by personal API key or by [ManagementConfig.AuthFunc], which is
// asked first. An uploaded list of a static cohort is stored while it arrives: after an
// error, the elements before it are members.
//
// Bodies, their events and long answers are charged to [Config.MaxBodyMemory] until the
// request ends; when it is used up, the answer is 503. One request allocates at most 64
// times the MaxDecoded of events and 32 MiB. Bodies and answers may take any time as long
// as 4 KiB move within 10 s, whatever the timeouts of the [http.Server] say. The rest of a
// body that is refused early is read after the answer, within limits, so that the client
// gets the answer.
//
// Logs and answers of public routes contain no API keys, properties, or parts of a body,
// except the name and type of a wrong field, a number or UUID in its place, the character
// where a body stops being JSON, and the value of a wrong parameter.
//
// The rules are in api.md, evaluation.md §8 to §11 and §14, wire.md §1, §2, §4, §5
// and §7, and management.md §0 to §13, in docs/spec; comments cite them.
package server
