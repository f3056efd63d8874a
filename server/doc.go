// Package server answers the API over net/http: it evaluates flags, delivers what
// clients need besides, takes events if it is given somebody who stores them, and
// manages accounts and projects if it is given a [management.Service].
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
//	GET       /array/{key}/config     client configuration
//	GET       /array/{key}/config.js  the same as a script
//	GET POST  /api/surveys            surveys
//	GET POST  /api/early_access_features
//	GET       /healthz /readyz        for operators
//	GET       /metrics                for operators
//
// Those of OpenFeature's remote evaluation protocol exist if [Config.OFREP] is true:
//
//	POST      /ofrep/v1/evaluate/flags        all flags
//	POST      /ofrep/v1/evaluate/flags/{key}  one flag
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
// Those of the management API, below /api/, exist if there is a
// [Config.Management]; api_routes.go, api_managed.go, api_flags.go, api_cohorts.go
// and api_surveys.go list them. Then there are also definitions:
//
//	GET       /flags/definitions
//	GET       /api/feature_flag/local_evaluation                         an older name
//	GET       /api/projects/{project}/feature_flags/local_evaluation     the same
//	GET       /api/projects/{project}/feature_flags/{id}/remote_config   a payload
//
// If it can send mail, there is also the page that links in mails lead to:
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
// # Published
//
// What clients fetch besides values is rendered when it changes, not when it is
// asked for: a program turns a [Publication] into a [Published] and gives it to a
// [Project]. Package catalog does so for projects of a management store. A Project
// without Published has its ClientConfig to offer, and no surveys or early access
// features.
//
// All of it has an entity tag that is a hash of the body alone, so that it is the
// same in every process and after a restart, and clients that name it in
// If-None-Match get 304: as it is, without W/, without quotes, among others, or as
// an asterisk.
//
// # Delivery
//
// Surveys, early access features and client configuration are for everybody who
// knows a project's API key: answers have CORS headers, and may be kept, by whoever
// is on the way too, for one minute and configuration for five. The key comes in
// the path, or as token in the query, or else in the body of POST, which may be
// encoded in all ways that /flags takes.
//
// Client configuration has the list of surveys where mobile clients look for it,
// below /array/; with config=true and in /decide it has a boolean in its place. As
// a script it is safe in a page, whatever surveys say.
//
// # Definitions
//
// Definitions, for clients that evaluate by themselves, are not for everybody: they
// need the project's secret key, or a personal API key with scope
// feature_flag:read, as Authorization: Bearer. The project is the one in the path,
// or of the query's token, or of the header X-PostHog-Project-Api-Key, or the
// key's own. /flags/definitions always has cohorts; the older names put them into
// the flags' filters unless the query has send_cohorts.
//
// Clients react strongly to errors: they drop all flags after 402, and some after
// 401. So these two mean what they say, the [Config.Quota] is used up, which each
// request takes ten from, or the key is wrong; as long as nothing is published, or
// a store does not answer, it is 503.
//
// # OpenFeature
//
// The remote evaluation protocol takes a project's API key, or a key that opens its
// definitions, as Authorization: Bearer or X-API-Key. Evaluation is that of /flags,
// with what is stored, the client's place, rate limits and the [Config.Quota], of
// which each request takes one. Whoever has a secret key is a server; otherwise the
// User-Agent decides, and where it says nothing one flag is for a server and all
// flags are for a client. When the quota is used up the answer is 429, since the
// protocol has no other word for it, and clients pause for a minute.
//
// All flags come with an entity tag, which is a hash of the keys, values, reasons and
// metadata in the answer. Clients that name it get 304 exactly if these are the same,
// whatever they were computed from; the quota counts such requests, too. Inactive
// flags are in the answer with reason DISABLED, and flags that cannot be computed as
// errors of their own. If a store fails, metadata has errorsWhileComputingFlags. There
// are no event streams, so that the parameters flagConfigEtag and
// flagConfigLastModified of their clients mean nothing.
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
// projects are managed below /api/, and what projects serve: flags, cohorts, early
// access features and surveys. The [management.Service] decides who may do what
// and which values are allowed; this package finds out who asks, with which body,
// and writes what the Service answers.
//
// Who asks is known from a personal API key, as Authorization: Bearer phx_…, or
// from the host application, whose [Config.AuthFunc] is asked first. Checks come
// in the order of management.md §2.5: who asks, how often, with which method, with
// which body; then the Service's. Bodies are JSON objects of at most
// [Config.MaxManagementBody] bytes, in UTF-8, neither compressed nor nested deeper
// than 64 levels; no body is an empty object. Members that the API does not know
// are ignored.
//
// Members of static cohorts are uploaded as CSV or JSON of up to [Config.MaxUpload]
// bytes. Such a list is stored while it arrives and may have any number of elements
// of up to 256 KiB; after an error, those before it are members.
//
// Unlike public routes, those for who has a key or a session believe only proxies
// that are listed, are limited unless [Config.ManagementLimit] says otherwise, and
// are closed to pages of other origins unless [Config.ManagementOrigins] lists
// them.
//
// # Limits and errors
//
// An answer that cannot be finished is cut off, so that nobody takes it for
// whole.
//
// Bodies are limited before and after decompression, and read into memory that
// requests reuse. What bodies and their events take beyond 1 MiB is charged to
// [Config.MaxBodyMemory] until the request ends, windows of decompressors
// included; when it is used up the answer is 503. In all, one request allocates
// at most 64 times MaxCaptureDecoded and 32 MiB, which tests hold it to.
//
// errors.go has the one table of what each error of /flags answers; routes for
// events have theirs in capture.go and analytics.go, OpenFeature's protocol in
// ofrep.go, and the management API in api_errors.go. Logs, and answers of public routes, never contain API keys,
// properties, or parts of a body, but for the name and type of an event's field
// that is wrong and for a number or UUID in its place; a panic is logged with the
// type of its value and answered with status 500.
//
// # Where things are
//
// routes.go has the table of routes, flags.go is POST /flags from body to answer,
// ofrep.go is OpenFeature's protocol, published.go renders what delivery.go and
// definitions.go send, capture.go and analytics.go are the routes for events, body.go
// and decompress.go decode what clients send, stores.go has the interfaces to stored
// data. Files of the management API begin with api: api.go is the way of a
// request, api_routes.go the table of the routes of accounts, api_operations.go what
// they do, api_managed.go and those it names the same for what projects serve, and
// api_upload.go reads lists.
// The rules are those of api.md, evaluation.md §8 to §11 and §14, wire.md §1, §2,
// §4, §5 and §7, and management.md §0 to §13, in docs/spec; comments cite them.
package server
