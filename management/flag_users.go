package management

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
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

// FlagDependents returns the flags that people have made whose filters refer directly to a
// flag, active or not, in the order of the project. It needs scope feature_flag:read.
func (s *Service) FlagDependents(ctx context.Context, p *Principal, ref, flag string) ([]FlagName, error) {
	w, f, err := s.readFlag(ctx, p, ref, flag)
	if err != nil {
		return nil, err
	}
	set, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	ordinary := make(map[int64]bool)
	for i := range set.flags {
		ordinary[set.flags[i].ID] = set.flags[i].Kind == storage.FlagOrdinary
	}
	users := slices.DeleteFunc(judge.Referring(set.references(), f.ID, f.Key), func(u *flags.Flag) bool { return !ordinary[u.ID] })
	return each(users, func(u **flags.Flag) FlagName { return FlagName{(*u).ID, (*u).Key} }), nil
}
