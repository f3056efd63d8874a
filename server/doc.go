// Package server answers the API over net/http: it evaluates flags, takes events
// if it is given somebody who stores them, and manages accounts if it is given a
// [management.Service].
//
//	projects := new(server.Registry)
//	projects.Set("phc_demo", &server.Project{ID: 1, Name: "Demo", Flags: &evaluator})
//	s, err := server.New(server.Config{Projects: projects})
//	http.ListenAndServe("127.0.0.1:8000", s)
//
// A [Server] is an [http.Handler]: it opens no port, starts no goroutine and keeps
// nothing beyond its requests. Timeouts are those of the [http.Server] around it;
// it may be mounted below a prefix with [http.StripPrefix].
//
// # Routes
//
// Each is served with and without a trailing slash and never redirected.
//
//	POST      /flags                  the API
//	POST      /decide                 its older name, with older response forms
//	GET       /healthz /readyz        for operators
//	GET       /metrics                for operators
//
// Those for events exist if there is a [Config.Capture]:
//
//	POST GET  /i/v0/e /batch          events: one, an array, or a batch
//	POST      /i/v0/ai/batch          the same
//	POST GET  /e /capture /track      the same, base64 in base64 included
//	POST GET  /engage                 the same, and person updates
//	POST      /s                      recordings, which are discarded
//	POST      /i/v1/analytics/events  events, with a result for each
//	GET       / /_liveness /_readiness
//
// Those below /api/ exist if there is a [Config.Management]; api_routes.go lists
// them. If it can send mail, there is also the page that links in mails lead to:
//
//	GET POST  /verify_email/{user}/{token}
//
// # What a request costs
//
// Flags are evaluated from the project's current [flags.Snapshot], without I/O.
// The stores of a [Config] are asked only when a flag that the request may see
// looks at something that the request does not carry. If a store fails, the
// answer is computed without its data and says so in errorsWhileComputingFlags.
//
// # Events
//
// What a body is counts more than what is said about it: JSON, gzip and base64 are
// recognised, forms and lz64 too if they are declared, and deflate, br and zstd
// need a header. Package capture reads the events; a request with one that cannot
// be read is refused as a whole. On the way events get the client's address as
// $ip, unless the project is anonymous, its place from [Config.Geo], and browser,
// system and device of its User-Agent; never over properties that the event has,
// and $geoip_disable is heeded. All else that events mean for persons and groups
// is up to who stores them.
//
// A client hears of success when [Capture] has its events for good, and is told to
// send them again when that fails or takes longer than [Config.CaptureTimeout].
// Events beyond the [Config.EventQuota] are dropped, which only the newest route
// says.
//
// # The management API
//
// Users, their keys and two-factor authentication, organizations, members and
// projects are managed below /api/. The [management.Service] decides who may do
// what and which values are allowed; this package finds out who asks, with which
// body, and writes what the Service answers.
//
// Who asks is known from a personal API key, as Authorization: Bearer phx_…, or
// from the host application, whose [Config.AuthFunc] is asked first. Checks come
// in the order of management.md §2.5: who asks, how often, with which method, with
// which body; then the Service's. Bodies are JSON objects of at most
// [Config.MaxManagementBody] bytes, in UTF-8, neither compressed nor nested deeper
// than 64 levels; no body is an empty object. Members that the API does not know
// are ignored.
//
// Unlike public routes, these believe only proxies that are listed, are limited
// unless [Config.ManagementLimit] says otherwise, and are closed to pages of other
// origins unless [Config.ManagementOrigins] lists them.
//
// # Limits and errors
//
// Bodies are limited before and after decompression, and read into memory that
// requests reuse. What bodies and their events take beyond 1 MiB is charged to
// [Config.MaxBodyMemory] until the request ends, windows of decompressors
// included; when it is used up the answer is 503. In all, one request allocates
// at most 64 times MaxCaptureDecoded and 32 MiB, which tests hold it to.
//
// errors.go has the one table of what each error of /flags answers; routes for
// events have theirs in capture.go and analytics.go, and the management API in
// api_errors.go. Logs, and answers of public routes, never contain API keys,
// properties, or parts of a body, but for the name and type of an event's field
// that is wrong and for a number or UUID in its place; a panic is logged with the
// type of its value and answered with status 500.
//
// # Where things are
//
// routes.go has the table of routes, flags.go is POST /flags from body to answer,
// capture.go and analytics.go are the routes for events, body.go and
// decompress.go decode what clients send, stores.go has the interfaces to stored
// data. Files of the management API begin with api: api.go is the way of a
// request, api_routes.go the table of its routes, api_operations.go what they do.
// The sources of the rules are the API document, evaluation.md §8 to §11, wire.md
// §1 and §2, management.md §0 to §8, and decisions.md; comments cite them.
package server
