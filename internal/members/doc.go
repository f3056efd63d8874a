// Package members has the names of the members that definitions can have, and what
// the author of another name meant (evaluation.md §1.8). Package flags reads documents
// by it, and the management API what clients send.
package members
