package management

import (
	"context"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A FlagUser is something that a flag decides about.
type FlagUser struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// FlagUsers are the things of another package that flags decide about: package surveys has
// the surveys. A Service asks for them when it shows flags, and before it deletes one. The
// methods are part of the unit of work that the Service does; they must change nothing
// outside of the unit of work.
type FlagUsers interface {
	// Linked returns the things that are linked to flags of a project, by the IDs of the
	// flags.
	Linked(ctx context.Context, w *UnitOfWork, project int64) (map[int64][]FlagUser, error)

	// CheckUnused returns an [*Error] that names the thing if one needs a flag, so that
	// the flag cannot be deleted.
	CheckUnused(ctx context.Context, w *UnitOfWork, f *storage.Flag) error

	// Unlink takes a flag that is deleted from the things that are linked to it, and logs
	// that.
	Unlink(ctx context.Context, w *UnitOfWork, f *storage.Flag) error
}

// noFlagUsers are the FlagUsers of a Service that is not told of any.
type noFlagUsers struct{}

func (noFlagUsers) Linked(context.Context, *UnitOfWork, int64) (map[int64][]FlagUser, error) {
	return nil, nil
}

func (noFlagUsers) CheckUnused(context.Context, *UnitOfWork, *storage.Flag) error { return nil }

func (noFlagUsers) Unlink(context.Context, *UnitOfWork, *storage.Flag) error { return nil }
