import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

/// `juice dead-letters resend`.
struct DeadLetterResend: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend", abstract: "Send dead letters again, corrected or as they are.",
        discussion: """
            Writes the record back to its original topic, to the partition of its store, with the sender's headers and \
            with its own key and value or those given here. A record that would become a dead letter again is refused, \
            unless --unchecked is given. A truncated one needs --value.

            A dead letter is sent once, however often and wherever this command runs, and even if it dies: it writes the \
            record and a note in the dead-letter topic in one Kafka transaction, and of several runs at the same time \
            only the latest can commit. The note is retained as long as the letters. (An embedded broker does not give \
            these guarantees.) A resent record is an ordinary command: if its id was already answered within the \
            duplicate window, it gets that answer again.

            More than one letter is sent only after confirmation or with --yes. The exit status is 3 if any was refused.

            Examples:
              juice dead-letters show 3@42 --raw > order.json       (then edit the file)
              juice dead-letters resend 3@42 --value order.json
              jq -c '.orderId = "pos-7-1"' order.json | juice dead-letters resend 3@42 --value -
              juice dead-letters resend 3@42 --key gangnam
              juice dead-letters resend --all --code misplaced --yes
            """
    )

    @Argument(help: ArgumentHelp("The positions, as in the list.", valueName: "partition@offset")) var positions: [String] = []
    @Flag(inversion: .prefixedNo, help: "Send all that were not resent yet and match --code and --source.") var all: Bool?
    @OptionGroup var filter: LetterFilterOptions
    @Option(
        .value, value: "file", help: "A file with the value to send instead, or - for standard input.", completion: .file())
    var value: String?
    @Option(.key, value: "store", help: "The key to send instead: the store.") var key: String?
    @Flag(inversion: .prefixedNo, help: "Also send records that would become dead letters again.") var unchecked: Bool?
    @Flag(inversion: .prefixedNo, help: "Do not ask for confirmation.") var yes: Bool?
    @Flag(inversion: .prefixedNo, help: "Print each outcome as a line of JSON.") var json: Bool?

    @OptionGroup var timeout: TimeoutOption
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let request = try ResendRequest(positions, settings)
        let (isConfirmed, printsJSON) = (try settings[.yes], try settings[.json])
        var resend = Resend(
            request: request, clients: try KafkaClients(settings), timeout: try settings[.timeout],
            confirm: { count throws(Failure) in isConfirmed || count == 1 ? true : try Self.asks(count) },
            show: { StandardOutput.line(printsJSON ? JSONText.line($0) : $0.text) })
        try resend.run()
        let outcomes = resend.outcomes.values
        func count(_ result: Resend.Outcome.Result) -> Int { outcomes.count { $0.result == result } }
        if !printsJSON, outcomes.count != 1 {
            StandardOutput.line("resent \(count(.resent)), resent before \(count(.resentBefore)), refused \(count(.refused))")
        }
        if count(.refused) > 0 { throw ExitCode(Failure.Status.rejected.rawValue) }
    }

    private static func asks(_ count: Int) throws(Failure) -> Bool {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw Failure(.usage, "sending \(count.counted("dead letter")) again needs --yes without a terminal")
        }
        StandardError.write("Send \(count.counted("dead letter")) again? [y/N] ")
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }
}

/// Which dead letters to resend, and as which records.
struct ResendRequest {
    /// Nil chooses by the filter.
    let positions: Set<LetterPosition>?
    let filter: (DeadLetter) -> Bool
    /// What replaces the value and the key; nil keeps them, and an empty key removes the key.
    var value, key: [UInt8]?
    /// Whether to send records that are not valid commands.
    var isUnchecked: Bool
    private let decoder = CommandDecoder(menu: .standard)

    init(_ arguments: [String], _ settings: Settings) throws(Failure) {
        let isAll = try settings[.all]
        guard arguments.isEmpty == isAll else {
            throw Failure(
                .usage, isAll ? "--all and positions exclude each other" : "which dead letters?",
                hint: "name them as PARTITION@OFFSET, or choose with --all, --code and --source")
        }
        positions = isAll ? nil : Set(try arguments.map { text throws(Failure) in try LetterPosition(argument: text) })
        filter = try settings.letterFilter()
        guard isAll || settings.all(.code).isEmpty && settings.all(.source).isEmpty else {
            throw Failure(.usage, "--code and --source choose among --all")
        }
        let (path, newKey) = (try settings[.value], try settings[.key])
        guard positions?.count == 1 || path == nil && newKey == nil else {
            throw Failure(.usage, "--value and --key are for one dead letter at a time")
        }
        value = try path.map { path throws(Failure) in try Self.contents(of: path) }
        key = newKey.map { Array($0.utf8) }
        isUnchecked = try settings[.unchecked]
    }

    private static func contents(of path: String) throws(Failure) -> [UInt8] {
        let file = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let file, let data = try? file.readToEnd() ?? Data() else {
            throw Failure(.configuration, "the value's file \(path.printable) cannot be read")
        }
        // Editors and shells end a file with a line feed, which is not part of the command.
        return data.last == UInt8(ascii: "\n") ? Array(data.dropLast()) : Array(data)
    }

    /// A record that replaces a dead letter.
    struct Record {
        let letter: LetterPosition
        let topic: String
        let partition: Int32
        let key, value: [UInt8]?
        let headers: [RecordHeader]
        /// The sender's headers, if these are not among them.
        var copied: HeaderList?
    }

    /// The record to send for a dead letter.
    ///
    /// - Parameter partitionCount: the number of partitions that own stores.
    /// - Throws: ``Failure`` of status ``Failure/Status/rejected``, which says why it is not sent.
    func record(for letter: DeadLetter, _ topics: TopicNames, partitionCount: Int32) throws(Failure) -> Record {
        let source = letter.source.topic
        guard let input = topics.input(named: source) else {
            throw Failure(.rejected, "it came from \(source), which is not \(topics.orders) or \(topics.restocks)")
        }
        guard letter.truncatedFrom == nil || value != nil else {
            throw Failure(.rejected, "its value was truncated; give the whole value with --value")
        }
        let value = self.value ?? letter.value
        let key = self.key.map { $0.isEmpty ? nil : $0 } ?? letter.key
        if !isUnchecked, let fault = fault(key: key, value: value, of: input) {
            let fix = fault == .badStore ? "--key" : "--value"
            throw Failure(.rejected, "it would become a dead letter again, as \(fault.code); correct it with \(fix)")
        }
        let owner = (key ?? []).withUnsafeBytes { bytes in
            // Any partition will do for a key that names no store.
            Murmur2.partition(of: (StoreID.read(key: bytes) ?? BorrowedText("main")).bytes, count: partitionCount)
        }
        let copied = letter.headerList?.removing(DeadLetter.ownHeaders)
        let senders = copied == nil ? letter.sendersHeaders : []
        return Record(
            letter: letter.position, topic: source, partition: owner, key: key, value: value,
            headers: senders + [RecordHeader(name: HeaderName.resentFrom, value: letter.position.headerText)],
            copied: copied)
    }

    /// Why the service would put the record aside; nil if it would not.
    private func fault(key: [UInt8]?, value: [UInt8]?, of input: InputTopic) -> DeadLetterReason? {
        guard (key ?? []).withUnsafeBytes({ StoreID.read(key: $0) != nil }) else { return .badStore }
        return (value ?? []).withUnsafeBytes { bytes in
            do throws(DeadLetterReason) {
                _ = try decoder.command(in: bytes, of: input)
                return nil
            } catch { return error }
        }
    }
}

/// Resends the dead letters of a request.
struct Resend {
    /// What became of a dead letter. As JSON, the line of it.
    struct Outcome: Encodable {
        enum Result: String, Encodable { case resent, resentBefore, refused }

        let partition: Int32
        let offset: Offset
        let result: Result
        /// Where it was resent to.
        let topic: String?
        let toPartition: Int32?
        /// Why it was refused.
        let reason: String?

        var text: String {
            let letter = LetterPosition(partition: partition, offset: offset).text
            return switch result {
            case .resent: "\(letter) sent to \(topic ?? "") partition \(toPartition ?? 0)"
            case .resentBefore: "\(letter) was sent before"
            case .refused: "\(letter) not sent: \(reason ?? "")".printable
            }
        }
    }

    let request: ResendRequest
    let clients: KafkaClients
    /// How long to wait for the brokers at each step.
    let timeout: Duration
    /// Asks the user whether to send this many.
    var confirm: (_ count: Int) throws(Failure) -> Bool = { _ in true }
    /// Receives each outcome once it is certain.
    var show: (Outcome) -> Void = { _ in }
    private(set) var outcomes: [LetterPosition: Outcome] = [:]
    /// The letters of transactions that may have been committed.
    private(set) var inDoubt: Set<LetterPosition> = []

    /// So many attempts in a row without progress end the command.
    private static let mostAttempts = 3

    /// Reads the letters and sends records for those that have no note, until all are settled.
    mutating func run() throws(Failure) {
        let partitionCount = try partitionCount()
        var attempts = 0
        while true {
            // Create the sender before reading: it fences all others, so the notes are complete.
            let sender = try DeadLetterSender(clients, timeout: timeout)
            let records = try unsent(partitionCount)
            if records.isEmpty { return }
            if inDoubt.isEmpty, try !confirm(records.count) { return }
            let settledBefore = outcomes.count
            do throws(KafkaError) {
                for start in stride(from: 0, to: records.count, by: DeadLetterSender.batchSize) {
                    let batch = records[start..<min(start + DeadLetterSender.batchSize, records.count)]
                    inDoubt.formUnion(batch.map(\.letter))
                    try sender.send(batch, deadline: Deadline(after: timeout))
                    for record in batch { settle(record.letter, .resent, as: record) }
                }
                return
            } catch {
                attempts = outcomes.count > settledBefore ? 0 : attempts + 1
                // The transactional id may have expired since it was initialised, or a slow network hides who owns it. Start over:
                // the notes show what was sent.
                guard !DeadLetterSender.isFinal(error), attempts < Self.mostAttempts else { throw failure(error) }
            }
        }
    }

    /// Reads the letters, settles those that must not be sent, and makes the others' records.
    private mutating func unsent(_ partitionCount: Int32) throws(Failure) -> [ResendRequest.Record] {
        var records: [ResendRequest.Record] = []
        for letter in try letters() {
            if letter.isResent, !inDoubt.contains(letter.position) {
                if request.positions != nil { settle(letter.position, .resentBefore) }
                continue
            }
            do throws(Failure) {
                let record = try request.record(for: letter, clients.topics, partitionCount: partitionCount)
                if letter.isResent { settle(letter.position, .resent, as: record) } else { records.append(record) }
            } catch { settle(letter.position, .refused, reason: error.message) }
        }
        return records
    }

    /// The letters that were asked for. Settles positions without one.
    private mutating func letters() throws(Failure) -> [DeadLetter] {
        let reader = try DeadLetterReader(clients, upTo: .highWatermark, timeout: timeout)
        do throws(Failure) {
            guard let positions = request.positions else { return try reader.all(where: request.filter) }
            let (letters, missing) = try reader.at(positions)
            if positions.count == 1, let position = missing.first { throw reader.missing(position) }
            for position in missing { settle(position, .refused, reason: "there is no dead letter") }
            return letters
        } catch {
            guard error.status == .unavailable else { throw error }
            throw Failure(
                .unavailable, "the dead letters cannot be read to their end within \(DurationText.text(timeout))",
                hint: "a transaction of an instance that died may be undecided for some 20 s: try again")
        }
    }

    private mutating func settle(
        _ letter: LetterPosition, _ result: Outcome.Result, as record: ResendRequest.Record? = nil, reason: String? = nil
    ) {
        guard outcomes[letter] == nil else { return }
        let outcome = Outcome(
            partition: letter.partition, offset: letter.offset, result: result, topic: record?.topic,
            toPartition: record?.partition, reason: reason)
        outcomes[letter] = outcome
        show(outcome)
    }

    private func partitionCount() throws(Failure) -> Int32 {
        let deadline = Deadline(after: timeout)
        let admin = try clients.admin(reachedUntil: deadline)
        let count = try clients.partitionCount(of: clients.topics.orders, asking: admin, until: deadline)
        return Int32(clamping: max(1, count))
    }

    private func failure(_ error: KafkaError) -> Failure {
        let again = "run the command again: no letter is sent twice"
        guard error.code != .fenced else {
            return Failure(.unavailable, "another process has started to resend dead letters", hint: again)
        }
        var failure = clients.failure(error)
        failure.hint = [failure.hint, again].compactMap(\.self).joined(separator: "\n")
        return failure
    }
}

/// Writes records for dead letters, each exactly once, however often it is tried.
///
/// The resent record and a note in the dead-letter topic are written in one transaction. All senders share one transactional id, so
/// a new sender fences the previous one, whose transaction is then either committed or aborted. Notes that are read after that are
/// complete, and the sender can commit only until another one starts.
struct DeadLetterSender {
    private let session: TransactionSession
    /// In the session's order.
    private let topics: [String]
    private let deadLetters: String

    /// The most letters in a transaction.
    static let batchSize = 100
    private static let callTimeout = Duration.seconds(1)

    /// Fences any other sender of dead letters.
    init(_ clients: KafkaClients, timeout: Duration) throws(Failure) {
        let deadline = Deadline(after: timeout)
        deadLetters = clients.topics.deadLetters
        topics = [clients.topics.orders, clients.topics.restocks, deadLetters]
        let session = clients.transactionSession(id: deadLetters + "/resend", topics: topics)
        self.session = session
        try clients.ask(nil, until: deadline) { () throws(KafkaError) in
            _ = try session.initTransactions(timeout: Self.callTimeout)
        }
    }

    /// Sends records for letters that have no note yet: all of them or none.
    ///
    /// - Throws: ``KafkaError``, after which nothing more can be sent. To take the transactional id over again could fence a sender
    ///   that started since.
    func send(_ records: ArraySlice<ResendRequest.Record>, deadline: Deadline) throws(KafkaError) {
        guard !session.hasLostConnection else {
            throw KafkaError(code: .state, message: "a late request may commit half a batch")
        }
        try begin(records)
        try retrying(while: { !deadline.isOver }) { () throws(KafkaError) in try session.commit(timeout: Self.callTimeout) }
    }

    /// Whether another attempt would not help, or another sender has taken over. After other errors the transaction has failed or
    /// its outcome is unknown, and a new sender finds out from the notes.
    static func isFinal(_ error: KafkaError) -> Bool {
        error.remedy == .retry || error.code == .fenced || error.code.isHopeless
    }

    /// Begins a transaction with these records, and notes that mark their letters as resent.
    func begin(_ records: some Sequence<ResendRequest.Record>) throws(KafkaError) {
        try session.begin()
        for record in records {
            try produce(
                to: record.topic, record.partition, key: record.key, value: record.value, record.headers, record.copied)
            let note = [
                RecordHeader(name: HeaderName.resentLetter, value: record.letter.headerText),
                RecordHeader(name: HeaderName.resentTo, value: "\(record.topic)/\(record.partition)"),
            ]
            try produce(to: deadLetters, record.letter.partition, key: nil, value: nil, note)
        }
    }

    private func produce(
        to name: String, _ partition: Int32, key: [UInt8]?, value: [UInt8]?, _ headers: [RecordHeader],
        _ copied: HeaderList? = nil
    ) throws(KafkaError) {
        guard let topic = topics.firstIndex(of: name) else {
            throw KafkaError(code: .unknownTopic, message: name, requiresAbort: true)
        }
        try (key ?? []).withUnsafeBufferPointer { keyBytes throws(KafkaError) in
            try (value ?? []).withUnsafeBufferPointer { valueBytes throws(KafkaError) in
                try session.produce(
                    to: topic, partition: partition, key: key == nil ? nil : UnsafeRawBufferPointer(keyBytes),
                    value: value == nil ? nil : UnsafeRawBufferPointer(valueBytes), headers: headers, copying: copied)
            }
        }
    }
}
