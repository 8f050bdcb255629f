import JuiceMessages

/// What ``AnswerPrinter`` prints for people.
protocol AnswerFormat {
    /// Whether the entry is printed at all.
    func shows(_ entry: ResultsReader.Entry) -> Bool

    /// The line of an entry that is printed.
    func line(_ entry: ResultsReader.Entry) -> String

    /// The line of the revisions that are missing before an entry.
    func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String
}

/// Prints answers, and before an answer the revisions of its store that are missing.
struct AnswerPrinter<Format: AnswerFormat> {
    /// Whether nothing was printed.
    private(set) var isEmpty = true
    private let format: Format
    private let printsJSON: Bool
    private var gaps = RevisionGaps()
    private var output: BatchedOutput

    /// A printer.
    ///
    /// - Parameters:
    ///   - format: the lines for people.
    ///   - printsJSON: whether to print the records instead.
    ///   - output: receives the lines.
    init(_ format: Format, printsJSON: Bool, to output: BatchedOutput = BatchedOutput()) {
        self.format = format
        self.printsJSON = printsJSON
        self.output = output
    }

    /// Prints the entries that `read` passes to its closure.
    mutating func collecting(_ read: ((ResultsReader.Entry) -> Void) throws(Failure) -> Void) throws(Failure) {
        defer { output.flush() }
        try read { entry in print(entry) }
    }

    private mutating func print(_ entry: ResultsReader.Entry) {
        let missing = entry.answer.flatMap { gaps.missing(before: $0) }
        guard format.shows(entry) else { return }
        isEmpty = false
        if printsJSON {
            if let missing { output.line(missing.json) }
            output.write(StandardOutput.jsonLine(entry.bytes))
        } else {
            if let missing { output.line(format.line(missing, before: entry)) }
            output.line(format.line(entry))
        }
    }
}

/// The lines of `juice results`: all answers, and notes of the journal as they are.
struct ResultsFormat: AnswerFormat {
    let paint: Paint

    func shows(_ entry: ResultsReader.Entry) -> Bool { true }

    func line(_ entry: ResultsReader.Entry) -> String {
        guard let answer = entry.answer else {
            let place = "partition \(entry.partition) offset \(entry.offset)"
            guard entry.bytes.withUnsafeBytes({ JournalNote.isNote($0) }) else {
                return "(\(place) is no answer that this version knows)"
            }
            let columns = [time(of: entry), place, String(decoding: entry.bytes, as: UTF8.self).printable]
            return columns.compactMap { $0.map { paint(.faint, $0) } }.joined(separator: "  ")
        }
        return AnswerLine.text(answer, time: time(of: entry), paint: paint)
    }

    func line(_ missing: MissingRevisions, before entry: ResultsReader.Entry) -> String {
        let columns = [
            time(of: entry).map { paint(.faint, $0) },
            DisplayWidth.pad(missing.store.printable, to: 12),
            paint(.red, DisplayWidth.pad("missing", to: 12)),
            missing.message,
        ]
        return columns.compactMap(\.self).joined(separator: "  ")
    }

    private func time(of entry: ResultsReader.Entry) -> String? {
        entry.timestamp.map { ClockTime.of(secondsSince1970: Int($0 / 1000)) }
    }
}
