package management

import (
	"context"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A UnitOfWork lets a package that lies on top of this one, such as package surveys, work as
// a Service does: it checks the access of the caller, and what the package changes is
// committed together with the flags and the entries of the activity log that belong to the
// change. A UnitOfWork is not safe for concurrent use.
type UnitOfWork struct{ w *work }

// Begin begins a unit of work that only reads, outside of a transaction. The Principal is
// the caller.
func (s *Service) Begin(by *Principal) *UnitOfWork { return &UnitOfWork{s.begin(by)} }

// Atomic runs f in a transaction, as [storage.Store.Atomic] does: f may run more than once. The
// Principal is nil if the system itself does the work.
func (s *Service) Atomic(ctx context.Context, by *Principal, f func(*UnitOfWork) error) error {
	return s.atomic(ctx, by, func(w *work) error { return f(&UnitOfWork{w}) })
}

// Store returns the Store of the unit of work: the transaction, unless it only reads.
func (w *UnitOfWork) Store() storage.Store { return w.w.store }

// Enter makes the project that a path names the one that the unit of work is about, and
// returns it. The error is the error of [Service.Access].
func (w *UnitOfWork) Enter(ctx context.Context, ref string, scopes ...Scope) (*ProjectAccess, error) {
	err := w.w.enter(ctx, ref, scopes...)
	return w.w.at, err
}

// Changed lets [Catalog.Changed] be called for a project after the commit.
func (w *UnitOfWork) Changed(project int64) { w.w.changed = append(w.w.changed, project) }

// Log adds an entry to the activity log. It sets ID, Created, User and System.
func (w *UnitOfWork) Log(ctx context.Context, a storage.Activity) error { return w.w.record(ctx, a) }

// Authors returns the users with the given IDs as authors, by ID. IDs may be nil. Users
// that were deleted are left out.
func (w *UnitOfWork) Authors(ctx context.Context, ids ...*int64) (map[int64]*Author, error) {
	users, err := w.w.authors(ctx, ids...)
	if err != nil {
		return nil, err
	}
	authors := make(map[int64]*Author, len(users))
	for id := range users {
		authors[id] = basicUser(users, &id)
	}
	return authors, nil
}

// SetFilters gives a flag of the project that the unit of work has entered the filters
// that a client has sent for it, but does not store it. The error is an [*Error] if the flag
// may not have them (management.md §13.5), as a rule set.
func (w *UnitOfWork) SetFilters(ctx context.Context, f *storage.Flag, sent flags.Filters) error {
	refs, err := w.w.references(ctx)
	if err != nil {
		return err
	}
	filters := sent.Clone()
	if judge.IsRuleSet(&filters) {
		return at("invalid", "version", "must be left out: only flags that people make can have a rule set")
	}
	if err := judge.Judge(&filters, judge.Subject{ID: f.ID, Key: f.Key}, refs); err != nil {
		return judgeError(err)
	}
	f.Filters = filters
	return nil
}
