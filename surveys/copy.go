package surveys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// A CopyRequest says to which projects a survey is copied.
type CopyRequest struct {
	Projects optional.Value[json.RawMessage] `json:"target_team_ids"`
}

// Copies are the surveys that [Service.Copy] has made.
type Copies struct {
	Surveys []Copied `json:"created_surveys"`
	Count   int      `json:"count"`
}

// A Copied survey is a survey in another project, or a second one in its own.
type Copied struct {
	Project int64     `json:"team_id"`
	ID      uuid.UUID `json:"survey_id"`
	Name    string    `json:"name"`
}

// maxCopies is how many projects one request may name.
const maxCopies = 100

// projects returns the IDs of the projects, each once.
func (q *CopyRequest) projects() ([]int64, error) {
	const attr = "target_team_ids"
	if !q.Projects.Set {
		return nil, refuse(attr, "required", "This field is required.")
	}
	if err := refusal(check.NotNull(attr, &q.Projects)); err != nil {
		return nil, err
	}
	ids, err := check.DecodeList[int64](attr, &q.Projects)
	if err != nil {
		return nil, refusal(err)
	}
	if len(ids) == 0 || len(ids) > maxCopies {
		return nil, invalid(attr, "Ensure this field has from 1 to %d elements.", maxCopies)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Copy makes a draft like a survey in each of some projects, or in none if the caller
// cannot use one of them (management.md §9.11). A copy has no flags, insight, dates,
// sampling and responses, and is not archived. If its name is taken, the name gets a
// suffix that says that it is a copy. It needs scope survey:write in each project.
func (s *Service) Copy(ctx context.Context, p *management.Principal, ref, id string, q CopyRequest) (*Copies, error) {
	var out *Copies
	err := s.atomic(ctx, p, func(w *work) error {
		out = &Copies{Surveys: []Copied{}}
		if err := w.enter(ctx, ref, "survey:write"); err != nil {
			return err
		}
		original, err := w.byRef(ctx, id)
		if err != nil {
			return err
		}
		projects, err := q.projects()
		if err != nil {
			return err
		}
		for _, project := range projects {
			v, err := w.copyInto(ctx, original, project)
			if err != nil {
				return err
			}
			out.Surveys = append(out.Surveys, Copied{v.Project, v.ID, v.Name})
		}
		out.Count = len(out.Surveys)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// copyInto makes one copy, in the same transaction. The error does not tell a project
// that the caller may not use from one that does not exist.
func (w *work) copyInto(ctx context.Context, original *Survey, project int64) (*Survey, error) {
	ref := strconv.FormatInt(project, 10)
	there := *w
	err := there.enter(ctx, ref, "survey:write")
	if _, refused := errors.AsType[*management.Error](err); refused {
		return nil, refuse("target_team_ids", "does_not_exist", "Object with id=%s does not exist.", ref)
	}
	if err != nil {
		return nil, err
	}
	others, err := w.surveys.Surveys(ctx, project)
	if err != nil {
		return nil, err
	}
	v, o := there.newSurvey(), original
	v.Name, v.Description, v.Type, v.Schedule = freeName(o.Name, others), o.Description, o.Type, o.Schedule
	v.Questions, v.Conditions, v.Appearance = o.Questions, rules.WithoutLinkedVariant(o.Conditions), o.Appearance
	v.BaseLanguage, v.Translations, v.FormContent = o.BaseLanguage, o.Translations, o.FormContent
	v.ResponsesLimit, v.IterationCount, v.IterationDays = o.ResponsesLimit, o.IterationCount, o.IterationDays
	v.PartialResponses, v.IframeEmbedding = o.PartialResponses, o.IframeEmbedding
	planIterations(v, v, w.now())
	if _, err := there.syncFlags(ctx, v, nil); err != nil {
		return nil, err
	}
	there.Changed(project)
	return v, there.add(ctx, v)
}

// freeName returns a name that none of the surveys has.
func freeName(name string, others []Survey) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(others, func(v Survey) bool { return v.Name == name })
	}
	free := name
	for n := 1; taken(free); n++ {
		suffix := " (copy)"
		if n > 1 {
			suffix = fmt.Sprintf(" (copy %d)", n)
		}
		runes := []rune(name)
		free = strings.TrimSpace(string(runes[:min(len(runes), maxName-len(suffix))])) + suffix
	}
	return free
}
