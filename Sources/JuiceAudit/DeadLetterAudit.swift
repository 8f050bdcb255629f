/// Checks that every record of one partition that cannot be answered has exactly one dead letter with its contents, and no
/// other has one.
///
/// A dead letter has the number of its source's partition, and the letters of one topic are in the order of their sources. So
/// only what is unmatched is held.
struct DeadLetterAudit: Sendable {
    var list = FaultList()
    private(set) var count = 0
    /// Letters that nothing was found for, by their sources.
    private(set) var unmatched: [Place: [DeadLetter]] = [:]
    /// Records that no letter was found for.
    private(set) var expected: [Place: ExpectedLetter] = [:]
    /// The latest sources that have their letters: enough to tell a second letter from one that must not be.
    private var matched: Set<Place> = []
    private var matchedOrder = Queue<Place>()

    private let rules: AuditRules
    private let partition: Int
    private var cursor: RecordCursor
    private var latest: [AuditTopic: Int64] = [:]

    private static let mostMatched = 65_536

    init(_ cursor: RecordCursor, partition: Int, _ rules: AuditRules) {
        (self.cursor, self.partition, self.rules) = (cursor, partition, rules)
    }

    /// Whether the next letter is that of a command that the broker refused to answer.
    mutating func isNext(_ place: Place) throws -> Bool {
        if let letter = unmatched[place]?.first { return letter.code == .unanswerable }
        guard let record = try cursor.peek(), record.headers.count >= 5 else { return false }
        let letter = DeadLetter(record, partition, rules)
        return letter?.source == place && letter?.code == .unanswerable
    }

    /// Expects the letter of a record.
    mutating func expect(
        _ record: AuditRecord,
        at place: Place,
        _ codes: [DeadLetterCode],
        _ bounds: AuditBounds
    ) throws {
        // Letters from before the topic's first one have expired, and those of the latest records may not be written.
        let mayLack = cursor.bounds.first > 0 || place.offset >= bounds.settled
        let expectation = ExpectedLetter(record, codes, necessity: mayLack ? .optional : .required)
        if let letters = unmatched.removeValue(forKey: place) {
            return match(letters, expectation, at: place)
        }
        expected[place] = expectation
        while latest[place.topic, default: -1] < place.offset, try readNext() {}
    }

    /// Reads the rest of the letters.
    mutating func finish() throws {
        while try readNext() {}
    }

    /// Takes over what the partitions have left.
    mutating func collect(_ others: [DeadLetterAudit]) {
        for other in others {
            list.add(other.list)
            count += other.count
            expected.merge(other.expected) { mine, _ in mine }
            unmatched.merge(other.unmatched) { $0 + $1 }
            matched.formUnion(other.matched)
        }
    }

    /// Matches across partitions, and reports what has no counterpart in any.
    ///
    /// - Parameter bounds: the bounds of a source's partition.
    mutating func reportRest(_ bounds: (Place) -> AuditBounds) {
        for (place, letters) in unmatched.sorted(by: { $0.key < $1.key }) {
            if let expectation = expected.removeValue(forKey: place) {
                match(letters, expectation, at: place)
            } else {
                guard place.offset >= bounds(place).first else { continue }
                let category: Fault.Category = matched.contains(place) ? .doubled : .wrong
                let problem =
                    category == .doubled ? "is put aside once more" : "was not to be put aside"
                for letter in letters { list.add(category, letter, "\(place.description) \(problem)") }
            }
        }
        unmatched = [:]
        for (place, expectation) in expected.sorted(by: { $0.key < $1.key })
        where expectation.necessity == .required {
            let problem = "it has no dead letter (\(expectation.codeNames))"
            list.add(.missing, place.topic, place.partition, place.offset, problem)
        }
    }

    /// Takes the letter of a command that has no answer, if it has that instead.
    ///
    /// - Returns: false if it has none.
    mutating func takeUnanswerable(_ place: Place, _ expectation: ExpectedLetter) -> Bool {
        guard let letters = unmatched[place], letters.first?.code == .unanswerable else { return false }
        unmatched[place] = nil
        match(letters, expectation, at: place)
        return true
    }

    private mutating func readNext() throws -> Bool {
        guard let record = try cursor.next() else { return false }
        // What `juice dead-letters resend` notes beside the letters.
        if ResendNote.isNote(record) { return true }
        guard let letter = DeadLetter(record, partition, rules) else {
            let problem = "its headers do not say where it is from"
            list.add(.wrong, .deadLetters, partition, record.offset, problem)
            return true
        }
        let place = letter.source
        if place.partition == partition { latest[place.topic] = max(latest[place.topic] ?? -1, place.offset) }
        if let expectation = expected.removeValue(forKey: place) {
            match([letter], expectation, at: place)
        } else {
            unmatched[place, default: []].append(letter)
        }
        return true
    }

    private mutating func match(_ letters: [DeadLetter], _ expectation: ExpectedLetter, at place: Place) {
        guard let letter = letters.first else { return }
        count += 1
        matched.insert(place)
        matchedOrder.append(place)
        if matchedOrder.count > Self.mostMatched, let oldest = matchedOrder.popFirst() {
            matched.remove(oldest)
        }
        for problem in expectation.differences(from: letter) {
            list.add(.wrong, letter, "\(place.description) \(problem)")
        }
        for extra in letters.dropFirst() {
            list.add(.doubled, extra, "\(place.description) is put aside once more")
        }
    }
}

extension FaultList {
    fileprivate mutating func add(_ category: Fault.Category, _ letter: DeadLetter, _ problem: String) {
        add(category, .deadLetters, letter.partition, letter.offset, problem)
    }
}
