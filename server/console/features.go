package console

import (
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	title: "Early access", entry: 5, path: "/features",
	scope: inProject, pages: map[string]page{"GET /projects/{project}/features": listFeatures},
})

// featuresView is the list of early access features.
type featuresView struct {
	layout
	Rows   []featureRow
	NewURL string
	pager
	Empty bool
}

// A featureRow is an early access feature in the list.
type featureRow struct {
	Name, URL, Description string
	Stage                  stageView
	Flag                   string // the key
	FlagURL                string
	FlagOff                bool
	Made                   moment
}

// A stageView is a stage of an early access feature.
type stageView struct {
	Label, Class, Means string
	Released            bool // persons can enrol
}

// featureStages are the stages in the order in which features go through them.
var featureStages = options(
	"draft", "Draft", "concept", "Concept", "alpha", "Alpha", "beta", "Beta",
	"general-availability", "General availability", "archived", "Archived",
)

// stageOf says what a stage means.
func stageOf(stage string) stageView {
	v := stageView{Label: stage, Means: "Persons cannot enrol; the condition sets of the flag decide alone."}
	for _, s := range featureStages {
		if s.Value == stage {
			v.Label = s.Label
		}
	}
	switch stage {
	case "alpha", "beta", "general-availability":
		v.Released, v.Class = true, "good"
		v.Means = "Persons can enrol. Those who have get the flag, whatever its condition sets say; those who have opted out do not."
	case "concept":
		v.Means = "Programs can show it and collect who is interested. The condition sets of the flag decide alone."
	}
	return v
}

func (q *request) featurePath(id string) string { return q.projectPath("/features/" + id) }

func listFeatures(q *request) error {
	page := pageNumber(q.Form)
	found, err := q.c.Service.ListEarlyAccessFeatures(q.Context(), q.by, q.ref, pageSize, (page-1)*pageSize)
	if err != nil {
		return err
	}
	q.notice()
	v := &featuresView{NewURL: q.projectPath("/features/new"), Empty: found.Total == 0}
	for _, f := range found.Items {
		v.Rows = append(v.Rows, q.featureRow(f))
	}
	v.pager = listing{path: q.projectPath("/features")}.page(page, pageSize, len(v.Rows), found.Total, "feature", "features")
	return q.render(http.StatusOK, "features", v)
}

func (q *request) featureRow(f *management.EarlyAccessView) featureRow {
	row := featureRow{
		Name: f.Name, URL: q.featurePath(f.ID.String()), Description: f.Description, Stage: stageOf(f.Stage),
		Made: q.c.moment(f.CreatedAt),
	}
	if f.Flag != nil {
		row.Flag, row.FlagURL, row.FlagOff = f.Flag.Key, q.flagPath(f.Flag.ID), !f.Flag.Active
	}
	return row
}
