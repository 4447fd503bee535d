// Package defect puts old defects back, so that internal/change/simulate can show
// that it finds them: each one by its number, at the place where it was. Without the
// build tag defects there are none, and the compiler leaves their code out.
package defect
