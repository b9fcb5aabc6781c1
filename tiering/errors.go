package tiering

import "errors"

var (
	// ErrOptions is wrapped by the error of New for invalid options.
	ErrOptions = errors.New("tiering: invalid options")
	// ErrClosed is the answer of a Manager after Close.
	ErrClosed = errors.New("tiering: manager is closed")
	// ErrEnded is the answer of a Request after End.
	ErrEnded = errors.New("tiering: request has ended")
	// ErrBusy is the answer of a Request that another goroutine is using.
	ErrBusy = errors.New("tiering: request is in use by another goroutine")
	// ErrFull is returned by Store when the primary can't make room: too few
	// blocks are free or evictable. Nothing was changed.
	ErrFull = errors.New("tiering: primary has no room")
	// ErrReleased is returned for a claim that has been released already.
	ErrReleased = errors.New("tiering: claim is already released")
	// ErrNotResident is returned by Claim for a key that is not a hit now.
	ErrNotResident = errors.New("tiering: block is not readable")
	// ErrStore is wrapped by the error of Store for arguments that make no sense.
	ErrStore = errors.New("tiering: invalid store")
	// ErrJob is wrapped by the errors of a Job for a completion that changes
	// nothing: late, repeated, or for a block the job does not have.
	ErrJob = errors.New("tiering: completion changes nothing")
	// ErrReset is what a write fails with that Reset overtook.
	ErrReset = errors.New("tiering: reset")
	// ErrDeclined is what a tier's Store returns (or wraps) when it is saturated
	// and takes nothing more for now. The decline is counted; it is no failure.
	ErrDeclined = errors.New("tiering: tier declined")
)
