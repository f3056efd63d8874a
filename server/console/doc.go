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
// # Where things are
//
// Package shell has what all screens have. Each group of screens is a package that imports the
// shell and no other group: flags, transfer (import and export), cohorts, features, persons (with
// groups and Explain), project (settings, members, audit log, problems) and account, and outside
// of internal, because programs add it themselves, surveys. Two groups share through the packages
// below them: forms, charts and targeting beside the shell, effects, people, sides and tour in
// internal.
//
// A page is a Go file with its handlers and what its template shows, such as cohorts.go,
// templates/cohorts.html, and an entry in screens.go of the package. TestScreens holds that. The
// test of the page adds what people can do there to the table of actions of its package.
package console
