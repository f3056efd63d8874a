package tool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	ffruntime "github.com/flagstaff-go/flagstaff/runtime"
)

// maxSubject is the longest accepted line of subjects, in bytes.
const maxSubject = 1 << 20

// A subjectReader reads subjects, one per line.
type subjectReader struct {
	ctx   context.Context
	now   time.Time
	name  string
	lines *bufio.Reader
	err   error // set if all stops before the end of the input
}

func (s *subjectReader) all() iter.Seq[*flags.Request] {
	return func(yield func(*flags.Request) bool) {
		for number := 1; ; number++ {
			line, err := s.lines.ReadSlice('\n')
			if err == bufio.ErrBufferFull {
				err = fmt.Errorf("the line is longer than %d bytes", maxSubject)
			}
			if err != nil && err != io.EOF {
				s.err = fmt.Errorf("%s:%d: %w", s.name, number, err)
				return
			}
			if s.err = s.ctx.Err(); s.err != nil {
				return
			}
			if line := bytes.TrimSpace(line); len(line) > 0 {
				r, err := subjectOf(line)
				if err != nil {
					s.err = fmt.Errorf("%s:%d: %w", s.name, number, err)
					return
				}
				r.Now = s.now
				if !yield(r) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// subjectOf reads a line.
func subjectOf(line []byte) (*flags.Request, error) {
	if line[0] != '{' {
		return &flags.Request{DistinctID: string(line)}, nil
	}
	var body wire.Request
	if err := body.Parse(line); err != nil {
		return nil, err
	}
	r := &flags.Request{
		DistinctID: body.DistinctID, AnonymousID: body.AnonymousID, DeviceID: body.DeviceID,
		Groups: make(map[string]string), Filter: ffruntime.Filter{Kind: ffruntime.All, Tags: body.Tags},
	}
	if !body.HasDistinctID {
		return nil, errors.New("the subject has no distinct_id")
	}
	if body.HasRuntime {
		r.Filter.Kind = body.Runtime
	}
	if body.HasKeys {
		r.Keys = append([]string{}, body.Keys...)
	}
	var names map[string]json.RawMessage
	for _, member := range []struct {
		text []byte
		into any
	}{{body.Groups, &names}, {body.Person, &r.PersonProperties}, {body.GroupProperties, &r.GroupProperties}} {
		if member.text == nil {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(member.text))
		d.UseNumber() // keeps numbers as they are written
		if err := d.Decode(member.into); err != nil {
			return nil, err
		}
	}
	for name := range names {
		if key := body.GroupKey(name); key != "" {
			r.Groups[name] = key
		}
	}
	return r, nil
}
