package prune

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// unused returns the declarations that nothing uses any more: handles of the flags, and
// what is not exported and was used before.
func (p *pruner) unused() (list []Place) {
	before, after := make(map[string]bool), make(map[string]bool)
	for _, u := range p.list {
		references(before, u.from.TypesInfo)
		if info := u.info; info != nil {
			references(after, info)
		} else {
			references(after, u.from.TypesInfo)
		}
	}
	for _, u := range p.list {
		for _, d := range p.program.Found[u.from].Declarations {
			if _, ok := p.settled[d.Key]; ok && d.Object != nil && isGlobal(d.Object) && !after[nameOf(d.Object)] {
				list = append(list, p.unusedHandle(u, &d))
			}
		}
		for id, o := range u.from.TypesInfo.Defs {
			if o == nil || !isGlobal(o) || o.Exported() || !before[nameOf(o)] || after[nameOf(o)] || p.isHandle(u, o) {
				continue
			}
			list = append(list, u.unusedPlace(id.Pos(), o, Place{Reason: fmt.Sprintf("nothing uses %s any more", o.Name())}))
		}
	}
	return list
}

func (p *pruner) isHandle(u *packageUnit, o types.Object) bool {
	return slices.ContainsFunc(p.program.Found[u.from].Declarations, func(d uses.Declaration) bool { return d.Object == o })
}

func (p *pruner) unusedHandle(u *packageUnit, d *uses.Declaration) Place {
	reason := fmt.Sprintf("nothing uses the handle %s any more", d.Object.Name())
	if f := u.byPos[u.from.Fset.File(d.Object.Pos())]; f != nil && f.fixed {
		reason += ": make the file again, without the flag"
	}
	return u.unusedPlace(d.Object.Pos(), d.Object, Place{Key: d.Key, Reason: reason})
}

// unusedPlace adds to a place where a declaration is, in the old file and in the new one.
func (u *packageUnit) unusedPlace(pos token.Pos, o types.Object, place Place) Place {
	place.Position = u.from.Fset.PositionFor(pos, false)
	place.Line = place.Position.Line
	if u.checked != nil {
		if now := u.checked.Scope().Lookup(o.Name()); now != nil {
			place.Line = u.set.PositionFor(now.Pos(), false).Line
		}
	}
	return place
}

// references adds the names of what is used, of all that packages declare.
func references(set map[string]bool, info *types.Info) {
	for _, o := range info.Uses {
		if isGlobal(o) {
			set[nameOf(o)] = true
		}
	}
}

// isGlobal reports whether a package declares an object, and not a function within it.
func isGlobal(o types.Object) bool {
	if _, ok := o.(*types.PkgName); ok || o.Pkg() == nil {
		return false
	}
	return o.Parent() == o.Pkg().Scope()
}

func nameOf(o types.Object) string { return o.Pkg().Path() + "." + o.Name() }
