import JuiceDomain
import JuiceMessages

/// Finds how far a copied input is handled by what its records are, not by their offsets.
///
/// A copy of another cluster's topics has the same records in the same order, but at other offsets: it lacks transaction markers,
/// and whatever had expired. So the records whose digests the journal has are laid over the input, and must fit where both overlap.
package struct CopyAlignment {
    /// A place up to which an input is handled.
    package struct Place: Sendable, Equatable {
        /// The next offset to read.
        package let next: Offset
        /// What the journal calls it.
        package let journaled: Offset
        /// How many handled records the input lacks, since it ends before them.
        package let lacking: Int
    }

    private typealias Journaled = (offset: Offset, digest: RecordDigest?)

    private let input: InputPartition
    private let storePartition: Int32
    private let id: String?
    private let reader: CommandReader
    /// The records that the journal names. The digest is nil where that may be anything.
    private var journaled: [Journaled] = []
    /// Which of that the latest position note names as its `last`.
    private var noted: Int?
    /// How much of that is up to the command to stop at; nil if it was not answered.
    private var end: Int?
    /// The next offset by the journal; nil if it does not say.
    private var next: Offset?
    /// Whether these records have the offsets of yet another cluster, from which this journal was copied before.
    private var isOfFormerCluster = false
    /// Whether the journal is there from its first claim on; nil if it is empty.
    private var isWhole: Bool?
    private var records: [(offset: Offset, digest: RecordDigest, command: RecordDigest?)] = []

    /// More than these are not looked for.
    private static let mostPlaces = 6

    /// - Parameters:
    ///   - storePartition: the partition whose journal covers the input.
    ///   - id: of the last command to consider; nil for all that was handled.
    package init(of input: InputPartition, in storePartition: Int32, upTo id: String?, menu: Menu, partitionCount: Int32) {
        (self.input, self.storePartition, self.id) = (input, storePartition, id)
        reader = CommandReader(menu: menu, partitionCount: partitionCount)
    }

    /// Adds the next record of the journal.
    package mutating func add(_ record: JournalRecord) {
        if isWhole == nil { isWhole = if case .claim(let claim) = record.note { claim.since == 0 } else { false } }
        switch record.content {
        case .note(.anchored(let place, _, _, let copied)) where place.input(in: storePartition) == input:
            // In another log, nothing of what was handled before is before this place. In a copy it is, as far as the copy had it.
            journaled = copied.map { copied in isOfFormerCluster ? journaled : journaled.filter { $0.offset < copied } } ?? []
            (end, noted, next, isOfFormerCluster) = (nil, nil, place.offset, !journaled.isEmpty)
        case .note(.position(let note)):
            next = (input.partition == storePartition ? note.next[input.topic] : note.added[input]) ?? next
            guard let last = note.last[input] else { return }
            // What the journal says of the record itself has expired.
            if journaled.isEmpty, last.offset + 1 == next { journaled = [(last.offset, last.digest)] }
            if journaled.last?.offset == last.offset { noted = journaled.count - 1 }
        default:
            guard let place = record.handled, place.input == input else { return }
            if isOfFormerCluster { (journaled, isOfFormerCluster) = ([], false) }
            // A copier may have written it twice.
            guard place.offset > journaled.last?.offset ?? -1 else { return }
            next = place.offset + 1
            journaled.append((place.offset, record.digest))
            if let answer = record.answer, String(answer.head.id) == id { end = journaled.count }
        }
    }

    /// Adds the next record of the input.
    package mutating func add(_ record: CommandRecord) {
        let (digest, command) = reader.digests(of: record)
        records.append((record.offset, digest, command))
    }

    /// The places behind the last record to consider, some of them if there are many. Nil if the journal does not name it.
    ///
    /// - Parameter log: where the input begins and ends.
    package func places(in log: Range<Offset>) -> [Place]? {
        guard let count = id == nil ? journaled.count : end else { return nil }
        let journaled = journaled.prefix(count)
        guard let last = journaled.last else {
            // None of its records was handled.
            return next == 0 || next == nil && isWhole == true ? [Place(next: log.lowerBound, journaled: 0, lacking: 0)] : nil
        }
        let end = isOfFormerCluster ? next ?? 0 : last.offset + 1
        // Where all that follows a note's `last` fits together with it, a few of these records that fit elsewhere are repeats.
        var (strong, weak): ([Place], [Place]) = ([], [])
        for record in records.indices where strong.count < Self.mostPlaces && fits(journaled, record) {
            let place = Place(next: records[record].offset + 1, journaled: end, lacking: 0)
            if let noted, count - 1 - noted > record { weak.append(place) } else { strong.append(place) }
        }
        var places = strong.isEmpty ? weak : strong
        // All of an input that ends before may be handled.
        if id == nil, !isOfFormerCluster, let newest = records.last, places.last?.next != newest.offset + 1,
            let entry = journaled.indices.dropLast().last(where: { fits(journaled[...$0], records.count - 1) })
        {
            places.append(Place(next: log.upperBound, journaled: journaled[entry].offset + 1, lacking: count - 1 - entry))
        }
        return places
    }

    /// Whether this record of the input may be the last one named: both are the same from there back to where either begins.
    private func fits(_ journaled: ArraySlice<Journaled>, _ record: Int) -> Bool {
        var hasDigest = false
        for (entry, record) in zip(journaled.reversed(), records[...record].reversed()) {
            guard let digest = entry.digest else { continue }
            guard digest == record.digest || digest == record.command else { return false }
            hasDigest = true
        }
        return hasDigest
    }
}
