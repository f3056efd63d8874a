// Package server answers the public flag-evaluation API over net/http.
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
// routes.go lists them. Each is served with and without a trailing slash and
// never redirected. POST /flags is the API; /decide is its older name with older
// response forms; /healthz, /readyz and /metrics are for operators.
//
// # What a request costs
//
// Flags are evaluated from the project's current [flags.Snapshot], without I/O.
// The stores of a [Config] are asked only when a flag that the request may see
// looks at something that the request does not carry. If a store fails, the
// answer is computed without its data and says so in errorsWhileComputingFlags.
//
// # Limits and errors
//
// Bodies are limited before and after decompression, and read into memory that
// requests reuse. errors.go has the one table of what each error answers.
// Answers and logs never contain API keys, properties, or parts of a body; a
// panic is logged with the type of its value and answered with status 500.
//
// # Where things are
//
// flags.go is POST /flags from body to answer, body.go decodes what clients
// send, stores.go has the interfaces to stored data. The sources of the rules
// are the API document, evaluation.md §8 to §11, wire.md §1 and §2.10, and
// decisions.md; comments cite them.
package server
