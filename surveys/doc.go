// Package surveys has surveys: what they ask, whom, and when, and what people answer.
//
// A [Service] does what the management API offers for surveys (management.md §9 to §12). It
// lies on top of a [management.Service], which knows the users, the projects and the flags:
//
//	store, err := sqlite.Open(ctx, path, sqlstore.Options{Extensions: []sqlstore.Extension{surveys.Extension()}})
//	…
//	accounts, err := management.New(management.Config{Store: store, FlagUsers: surveys.FlagUsers{}})
//	…
//	service, err := surveys.New(surveys.Config{Management: accounts})
//	…
//	view, err := service.Create(ctx, principal, "@current", surveys.Patch{
//		Name: optional.Of("NPS"), Type: optional.Of("popover"),
//	})
//
// Each change is one transaction: the survey, its flags, and the entry of the activity log
// are stored together, or none of them is. Methods return a [*management.Error] for what is
// not possible, which can be shown to the user.
//
// # Where it registers
//
// No package below names this one. A program that has surveys opens its store with
// [Extension], which keeps what events say about surveys in step with them; gives
// [Service.Routes] to the server, [Data.Publish] to the catalog, the screens of package
// surveys/console to the console; and lets events pass through [Service.Sink].
//
// # Surveys and their flags
//
// A [Survey] without a start is a draft. It runs from its start to its end, and can be
// archived in any state. Clients get it in the form of [Public], and decide by its flags
// and conditions whom they ask.
//
// Flags are made for a survey (management.md §9.6): one that keeps out the persons who have
// answered or dismissed it, one for its targeting if that has filters, and one that lets in
// as many persons as a day wants. They are on while the survey has started, has no end and
// is not archived. They carry its name, and are deleted with it. An ordinary flag that a
// survey is linked to or targeted by stays as it is, because people have made it, and it
// may decide about other things. [FlagUsers] tells package management which flags are in
// use so.
//
// # Schedules
//
// [Service.Run] calls [Service.Keep], which does what is due: surveys end with the responses
// that they want or with their last iteration, iterations follow each other, and sampling
// lets in more persons day by day. What is due is computed from what is stored and from the
// time, so it is the same however long no process has looked. Entries of the activity log
// are by the system. Config.Leader lets one process at a time do it, and nothing is lost or
// done twice if two do. Run looks every ten minutes, and ten seconds after a change, or
// after a response that [Service.Sink] has passed on.
//
// Iterations that begin anew, after the last one has ended and the survey is resumed, count
// from 1 again (management.md §9.8). Persons have properties by that number: a person who
// has answered the first one is not asked in the new first one.
//
// # Responses
//
// Responses are counted and read from the captured events, by the rules of management.md
// §10.2. The sender of an event says which survey it is about; an event about
// a survey of another project does not count. Archived responses stay. Statistics leave
// them out if that is asked for, summaries always. A summary or a headline is kept with the
// survey until it is outdated: by a tenth more responses, or fewer responses, by other
// questions, or by a response that is archived since. Without Config.Summarizer package
// summary makes them, which sends nothing anywhere.
package surveys
