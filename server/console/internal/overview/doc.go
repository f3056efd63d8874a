// Package overview has the screens that are about a project as a whole: what needs attention and
// what was done today, and the search for flags, cohorts, persons and screens.
package overview
