// Package project has the screens of a project: settings, members, audit log and problems; and the
// list of projects.
package project
