package management

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A work is one unit of work: what a Service does for one call, in a transaction
// or, if it only reads, outside of one. Methods of a Service begin a work and
// answer; everything between them is a method of work, so that nothing in a
// transaction reads past it.
type work struct {
	*Service
	store storage.Store
	by    *Principal // nil: the system itself

	// at is the project that the work is about, nil before it has entered one.
	// The system enters projects without an organization and a level.
	at *ProjectAccess

	changed []int64   // projects of which clients see a change, 0 for projects themselves
	mails   []Message // to send
}

// begin begins a work outside of a transaction.
func (s *Service) begin(by *Principal) *work { return &work{Service: s, store: s.c.Store, by: by} }

// beginAt begins a work outside of a transaction in the project that a path names,
// see [Service.Access].
func (s *Service) beginAt(ctx context.Context, by *Principal, ref string, scopes ...Scope) (*work, error) {
	w := s.begin(by)
	return w, w.enter(ctx, ref, scopes...)
}

// atomic runs f in a transaction. After the commit it calls Changed of the Catalog for the projects
// that have changed, and sends the mails. Like the function of [storage.Store.Atomic], f may run
// more than once.
func (s *Service) atomic(ctx context.Context, by *Principal, f func(*work) error) error {
	var w *work
	err := s.c.Store.Atomic(ctx, func(store storage.Store) error {
		w = &work{Service: s, store: store, by: by}
		return f(w)
	})
	if err != nil {
		return err
	}
	for _, project := range w.changed {
		s.c.Catalog.Changed(ctx, project)
	}
	s.mail.send(w.mails...)
	return nil
}

// send sends messages after the commit.
func (w *work) send(list ...Message) { w.mails = append(w.mails, list...) }

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
func (s *Service) atomicIn(ctx context.Context, by *Principal, ref string, need int, scope Scope, f func(w *work, o *storage.Organization, level int) error) error {
	return s.atomic(ctx, by, func(w *work) error {
		o, level, err := w.organizationByRef(ctx, ref, need, scope)
		if err != nil {
			return err
		}
		return f(w, o, level)
	})
}

// answer is [Service.atomic] for a transaction with a result.
func answer[V any](ctx context.Context, s *Service, by *Principal, f func(*work) (*V, error)) (v *V, err error) {
	err = s.atomic(ctx, by, func(w *work) (err error) {
		v, err = f(w)
		return err
	})
	return v, err
}

// answerAt is [Service.atomicAt] for a transaction with a result.
func answerAt[V any](ctx context.Context, s *Service, by *Principal, ref string, scope Scope, f func(*work) (*V, error)) (v *V, err error) {
	err = s.atomicAt(ctx, by, ref, []Scope{scope}, func(w *work) (err error) {
		v, err = f(w)
		return err
	})
	return v, err
}

// answerIn is [Service.atomicIn] for a transaction with a result.
func answerIn[V any](
	ctx context.Context, s *Service, by *Principal, ref string, need int, scope Scope, f func(w *work, o *storage.Organization, level int) (*V, error),
) (v *V, err error) {
	err = s.atomicIn(ctx, by, ref, need, scope, func(w *work, o *storage.Organization, level int) (err error) {
		v, err = f(w, o, level)
		return err
	})
	return v, err
}

// single returns the only view of a list of one.
func single[V any](views []V, err error) (view V, _ error) {
	if err == nil {
		view = views[0]
	}
	return view, err
}
