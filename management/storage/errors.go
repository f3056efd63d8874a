package storage

import "errors"

// ErrTooLarge says that a thing would become larger than it may be.
var ErrTooLarge = errors.New("management: too large")

var (
	// ErrNotFound says that a thing does not exist.
	ErrNotFound = errors.New("management: not found")

	// ErrConflict says that a value that must be unique is taken.
	ErrConflict = errors.New("management: already exists")
)
