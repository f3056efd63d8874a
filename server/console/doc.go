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
// A change of who gets a flag that is on is shown first as what it does: for how many of the
// persons that were seen last the value changes, from what to what. So is every switch of a
// flag with the tag "protected". The notice after a change has a button that takes it back.
// The rules are in management.md §5.11.
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
// A screen has one name in all places: flags.go has the handler and the view model of the
// list of flags, flags_test.go its tests, templates/flags.html how it looks.
//
//   - console.go: routes, headers, sessions of requests; render.go: templates
//   - signin.go with session.go, projects.go, flags.go with connect.go, flag.go: screens
//   - flag_form.go, filter.go: the form of a flag, and the JSON that it stands for
//   - flag_review.go: who changes; flag_switch.go: what single buttons do with a flag
//   - undo.go: how changes are taken back; kept.go: forms of ended sessions
//   - persons.go, person.go, groups.go, with properties.go, typed.go: persons, groups, and
//     their properties
//   - surveys.go, survey.go with survey_form.go, survey_fields.go and survey_preview.go: the
//     surveys, the form of one and how respondents see it
//   - survey_results.go, survey_answers.go: what was answered; chart.go: columns as pictures
//   - why.go: why a person has a value; activity.go, problems.go: what was done, what is wrong
//   - import.go with import_run.go, export.go: definitions of other servers, and for them
//   - cohorts.go, cohort.go with cohort_form.go, cohort_review.go, cohort_members.go: cohorts
//   - features.go, feature.go: early access features
//   - settings.go with confirm.go, members.go: a project and its organization
//   - account.go, keys.go: the user; invitation.go: how people become members
//   - person_named.go: whom somebody names, wherever a person is asked for
//   - words.go, cohort_words.go: definitions in words; changes.go: what has changed in them
//   - bar.go: shares as pictures, chart.go: shares of a whole
package console
