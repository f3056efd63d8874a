package storage

import "time"

// A LinkKind says what a [Link] is good for.
type LinkKind string

const (
	LinkSignIn        LinkKind = "sign_in"        // signs a user in, who may choose a password
	LinkPasswordReset LinkKind = "password_reset" // gives a user another password
)

// A Link lets the reader of a message or of a terminal act for a user, once. A user has at
// most one of each kind.
type Link struct {
	User    int64
	Kind    LinkKind
	Hash    []byte // of the token; unique
	Target  string // the address that the user had when the link was made
	Created time.Time
	Expires time.Time
}
