// Package console is the web console: people sign in with a browser, see what their
// feature flags do, and change them.
//
//	handler, err := console.New(console.Config{
//		Service: service, // a management.Service
//		Prefix:  "/console",
//		URL:     "https://flags.example.com",
//	})
//	mux.Handle("/console/", handler)
//
// Package management has all rules: the console calls the Service with the
// Principal of the browser's session, and shows what the Service answers.
//
// # Pages
//
// Every page is HTML that needs no script. What changes something is a form that is
// posted. A value that is refused comes back beside its field, with everything that was
// typed; a change that was made is answered with a redirect. The script of the console
// adds keyboard shortcuts, and swaps parts of pages that forms would load anyway.
//
// A change of the targeting of a flag that is on is shown first as what it does: for how many
// of the persons that were seen last the value changes, from what to what. So is every switch
// of a flag with the tag "protected". The notice after a change has a button that takes it
// back. The rules are in management.md §5.11.
//
// A form stays as it is while the server cannot take it, and whoever is signed out signs in
// beside it. Without a script it travels through the pages of signing in.
//
// A document that is imported travels from page to page, packed, in a hidden field, so that
// the server keeps nothing of it. What an import that is under way has done so far, and what
// has become of it, is kept in memory for an hour.
//
// A survey that is saved by two people at once keeps what each of them has changed; where
// both have changed the same, the second one sees both and chooses.
//
// # Security
//
// Pages allow no inline script and no inline style, and cannot be framed. Requests that
// change something are refused if a browser sends them for another origin. The token of a
// session is in a cookie that scripts cannot read, and which browsers send over HTTPS
// alone. Over plain HTTP people can sign in only on the machine itself.
//
// # Screens
//
// A page of the console touches three files: cohorts.go with its handlers and what its
// template shows, templates/cohorts.html, and cohorts_test.go, which also adds what people
// can do there to the table of actions. The Go file registers a [screen]: the routes and who
// may see them, the title, the entry of the navigation, the notices after changes, what
// takes changes back, and the words of its things in the audit log. Nothing else lists pages,
// which TestScreens holds.
//
// # Where things are
//
//   - screen.go: what a screen registers; console.go: headers, sessions of requests, who may
//     see a page; render.go: templates, and the functions with which they show what the
//     Service has answered; pager.go: pages of lists; errors.go: pages of errors
//   - form.go: errors at their fields; flag_form.go, filter.go: the form of a flag;
//     cohort_form.go, survey_form.go with survey_fields.go: other forms
//   - flag_review.go, cohort_review.go: what a change does, and two who change the same
//   - confirm.go, undo.go, kept.go: questions, how changes are taken back, forms of ended
//     sessions
//   - properties.go, typed.go, person_named.go: properties, and whom somebody names
//   - words.go, changes.go: definitions and their changes in words
//   - bar.go: shares as pictures, chart.go: columns, survey_preview.go: how respondents see a
//     survey
package console
