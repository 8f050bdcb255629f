import JuiceMaker
import JuiceMessages

/// Revisions of a store that no answer has.
struct MissingRevisions: Equatable {
    let store: String
    let revisions: ClosedRange<Int>

    var message: String {
        revisions.count == 1
            ? "revision \(revisions.lowerBound) is missing"
            : "revisions \(revisions.lowerBound) to \(revisions.upperBound) are missing"
    }

    /// A JSON object among those of answers.
    var json: String {
        struct Object: Encodable {
            let type = "revisionsMissing"
            let store: String
            let from: Int
            let to: Int
            let message: String
        }
        return JSONText.line(Object(store: store, from: revisions.lowerBound, to: revisions.upperBound, message: message))
    }
}

/// Finds the missing revisions of all stores.
struct RevisionGaps {
    private var trackers: [Name: RevisionTracker] = [:]

    /// Adds the next answer of its store.
    ///
    /// - Parameter answer: the answer.
    /// - Returns: the revisions that are missing before it; nil if none are.
    mutating func missing(before answer: Answer) -> MissingRevisions? {
        trackers[Name(answer.store), default: RevisionTracker()].gap(before: answer).map {
            MissingRevisions(store: answer.store, revisions: $0)
        }
    }
}
