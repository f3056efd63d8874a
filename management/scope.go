package management

import (
	"slices"
	"strings"
)

// A Scope is a right of a personal API key, such as "user:read", or "*" for all rights
// (management.md §1.4).
type Scope string

// scopeObjects are the things that scopes can be about.
var scopeObjects = []string{
	"action", "activity_log", "annotation", "batch_export", "cohort", "dashboard", "early_access_feature", "event_definition",
	"experiment", "export", "feature_flag", "group", "insight", "integration", "notebook", "organization", "organization_member",
	"person", "plugin", "project", "property_definition", "query", "session_recording", "sharing_configuration", "subscription",
	"survey", "user", "webhook",
}

// Valid reports whether a scope can be given to a key.
func (s Scope) Valid() bool {
	if s == "*" {
		return true
	}
	object, action, _ := strings.Cut(string(s), ":")
	return (action == "read" || action == "write") && slices.Contains(scopeObjects, object)
}

// grants reports whether a key with scope s may do what needs another scope. A scope to
// write something includes the scope to read it.
func (s Scope) grants(need Scope) bool {
	if s == "*" || s == need {
		return true
	}
	object, read := strings.CutSuffix(string(need), ":read")
	return read && string(s) == object+":write"
}
