package flags

import (
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
)

// checkMembers reports the members of an object that are not known. Something that
// stands for a member which is not there is a fault of what is being read.
func (d *decoder) checkMembers(s *members.Shape, at *path, v jsonscan.Value) {
	for o := v.Object(); o.Next(); {
		if s.Knows(o.Name()) {
			continue
		}
		name, p := string(o.Name()), &path{up: at}
		p.name = name
		switch meant := s.Meant(name, v); {
		case meant == "":
			d.noteMember(s, name, p, o.Value(), "it is ignored here, and wherever else it is", errUnknownMember)
		case d.fault == nil:
			d.note(Error, p, o.Value(), "write "+meant, errUnknownMember)
		default:
			d.fail(p, o.Value(), fmt.Errorf("%w, write %s", errUnknownMember, meant))
		}
	}
}

// errUnknownMember says that an object has a member that nothing knows.
var errUnknownMember = errors.New("unknown member")

// noteMember notes a member that means nothing, once in a document for each name: the
// public system may have a new one in every flag. The map must not take the name from p,
// see [path.append].
func (d *decoder) noteMember(s *members.Shape, name string, p *path, v jsonscan.Value, hint string, err error) {
	key := memberKey{s, name}
	if len(d.noted) >= maxNotedMembers || d.noted[key] {
		return
	}
	if d.noted == nil {
		d.noted = make(map[memberKey]bool)
	}
	d.noted[key] = true
	d.note(Note, p, v, hint, err)
}

// maxNotedMembers is how many unknown members are noted in a document.
const maxNotedMembers = 100

// A memberKey is a name in one kind of object.
type memberKey struct {
	shape *members.Shape
	name  string
}
