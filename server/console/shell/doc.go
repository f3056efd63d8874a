// Package shell has what all screens of the console share: sessions, access to pages, the
// layout and the navigation, templates, forms that are kept, questions, notices and how changes
// are taken back, pages of errors, and the static files.
//
// A package with screens has a [Group]: its templates and its [Screen] values, which say their
// routes, the title, the entry of the navigation, the notices after changes, what takes changes
// back, and the words of their things in the audit log. A program adds it to Config.Screens of
// the console. A handler gets a [Request], which has the user, the project and the Service, and
// answers with Request.Render; its view embeds the [Layout].
//
// Beside the shell are its kits: forms for fields that people type, charts for pictures, and
// targeting for condition sets.
package shell
