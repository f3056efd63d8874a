package management

import (
	"context"
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// A work is one unit of work: what a Service does for one call, in a transaction
// or, if it only reads, outside of one. Methods of a Service begin a work and
// answer; everything between them is a method of work, so that nothing in a
// transaction reads past it.
type work struct {
	*Service
	store Store
	by    *Principal // nil: the system itself

	// at is the project that the work is about, nil before it has entered one.
	// The system enters projects without an organization and a level.
	at *ProjectAccess

	changed []int64 // projects of which clients see a change, 0 for projects themselves
}

// begin begins a work outside of a transaction.
func (s *Service) begin(by *Principal) *work { return &work{Service: s, store: s.c.Store, by: by} }

// beginAt begins a work outside of a transaction in the project that a path names,
// see [Service.Access].
func (s *Service) beginAt(ctx context.Context, by *Principal, ref string, scopes ...Scope) (*work, error) {
	w := s.begin(by)
	return w, w.enter(ctx, ref, scopes...)
}

// atomic runs f in a transaction, and calls Config.OnChange after the commit for the
// projects that have changed. Like the function of [Store.Atomic], f may run more than
// once.
func (s *Service) atomic(ctx context.Context, by *Principal, f func(*work) error) error {
	var changed []int64
	err := s.c.Store.Atomic(ctx, func(store Store) error {
		w := &work{Service: s, store: store, by: by}
		err := f(w)
		changed = w.changed
		return err
	})
	if err != nil {
		return err
	}
	for _, project := range changed {
		s.c.OnChange(ctx, project)
	}
	return nil
}

// atomicAt runs f in a transaction that changes the project that a path names, see
// [Service.Access].
func (s *Service) atomicAt(ctx context.Context, by *Principal, ref string, scopes []Scope, f func(*work) error) error {
	return s.atomic(ctx, by, func(w *work) error {
		if err := w.enter(ctx, ref, scopes...); err != nil {
			return err
		}
		w.changed = append(w.changed, w.at.Project.ID)
		return f(w)
	})
}

// atomicIn runs f in a transaction with an organization in which the Principal's
// user has the needed level at least.
func (s *Service) atomicIn(ctx context.Context, by *Principal, ref string, need int, scope Scope, f func(w *work, o *Organization, level int) error) error {
	return s.atomic(ctx, by, func(w *work) error {
		o, level, err := w.organizationByRef(ctx, ref, need, scope)
		if err != nil {
			return err
		}
		return f(w, o, level)
	})
}

// A UnitOfWork lets a package that lies on top of this one, such as package survey, work as
// a Service does: it checks the access of the caller, and what the package changes is
// committed together with the flags and the entries of the activity log that belong to the
// change. A UnitOfWork is not safe for concurrent use.
type UnitOfWork struct{ w *work }

// Begin begins a unit of work that only reads, outside of a transaction. The Principal is
// the caller.
func (s *Service) Begin(by *Principal) *UnitOfWork { return &UnitOfWork{s.begin(by)} }

// Atomic runs f in a transaction, as [Store.Atomic] does: f may run more than once. The
// Principal is nil if the system itself does the work.
func (s *Service) Atomic(ctx context.Context, by *Principal, f func(*UnitOfWork) error) error {
	return s.atomic(ctx, by, func(w *work) error { return f(&UnitOfWork{w}) })
}

// Store returns the Store of the unit of work: the transaction, unless it only reads.
func (w *UnitOfWork) Store() Store { return w.w.store }

// Enter makes the project that a path names the one that the unit of work is about, and
// returns it. The error is the error of [Service.Access].
func (w *UnitOfWork) Enter(ctx context.Context, ref string, scopes ...Scope) (*ProjectAccess, error) {
	err := w.w.enter(ctx, ref, scopes...)
	return w.w.at, err
}

// Changed lets Config.OnChange be called for a project after the commit.
func (w *UnitOfWork) Changed(project int64) { w.w.changed = append(w.w.changed, project) }

// Log adds an entry to the activity log. It sets ID, Created, User and System.
func (w *UnitOfWork) Log(ctx context.Context, a Activity) error { return w.w.record(ctx, a) }

// Authors returns the users with the given IDs as authors, by ID. IDs may be nil. Users
// that were deleted are left out.
func (w *UnitOfWork) Authors(ctx context.Context, ids ...*int64) (map[int64]*UserBasic, error) {
	users, err := w.w.authors(ctx, ids...)
	if err != nil {
		return nil, err
	}
	authors := make(map[int64]*UserBasic, len(users))
	for id := range users {
		authors[id] = basicUser(users, &id)
	}
	return authors, nil
}

// JudgeFilters returns filters that a client has sent for a flag of the project that the
// unit of work has entered, in the form in which they are stored. The error is an [*Error] if the
// flag may not have them (management.md §13.5).
func (w *UnitOfWork) JudgeFilters(ctx context.Context, f *FeatureFlag, sent json.RawMessage) (filters flags.Filters, err error) {
	world, err := w.w.definitionWorld(ctx)
	if err != nil {
		return filters, err
	}
	if err = judge.Read(sent, f.Key, &filters); err == nil {
		err = judge.Judge(&filters, judge.Subject{ID: f.ID, Key: f.Key, Create: true}, world)
	}
	return filters, judgeError(err)
}
