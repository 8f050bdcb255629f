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

            More than one letter is sent only with --yes. The exit status is 3 if any was refused.

            Examples:
              juice dead-letters show 3@42 --raw > order.json       (then edit the file)
              juice dead-letters resend 3@42 --value order.json
              jq -c '.orderId = "pos-7-1"' order.json | juice dead-letters resend 3@42 --value -
              juice dead-letters resend 3@42 --key gangnam
              juice dead-letters resend --all --code misplaced --yes
            """
    )

    @Argument(help: ArgumentHelp("The positions, as in the list.", valueName: "partition@offset")) var positions: [String] = []
    @Flag(inversion: .prefixedNo, help: "Send all that were not resent yet and match --code.") var all: Bool?
    @Option(.code) var code: String?
    @Option(
        .value, value: "file", help: "A file with the value to send instead, or - for standard input.", completion: .file())
    var value: String?
    @Option(.key, value: "store", help: "The key to send instead: the store.") var key: String?
    @Flag(inversion: .prefixedNo, help: "Also send records that would become dead letters again.") var unchecked: Bool?
    @Flag(inversion: .prefixedNo, help: "Send more than one.") var yes: Bool?

    @Option(.timeout) var timeout: String?
    @OptionGroup var kafka: KafkaOptions

    func run() throws {
        let settings = try Settings(self)
        let request = try ResendRequest(positions, settings)
        var counts: [ResendOutcome: Int] = [:]
        try request.run(KafkaClients(settings), timeout: settings[.timeout]) { outcome, line in
            counts[outcome, default: 0] += 1
            StandardOutput.line(line)
        }
        let (resent, before, refused) = (counts[.resent] ?? 0, counts[.resentBefore] ?? 0, counts[.refused] ?? 0)
        if resent + before + refused != 1 {
            StandardOutput.line("resent \(resent), resent before \(before), refused \(refused)")
        }
        if refused > 0 { throw ExitCode(Failure.Status.rejected.rawValue) }
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
    /// Whether to send more than one.
    let isConfirmed: Bool
    private let decoder = CommandDecoder(menu: .standard)

    init(_ arguments: [String], _ settings: Settings) throws(Failure) {
        let isAll = try settings[.all]
        guard arguments.isEmpty == isAll else {
            throw Failure(
                .usage, isAll ? "--all and positions exclude each other" : "which dead letters?",
                hint: "name them as PARTITION@OFFSET, or choose with --all and --code")
        }
        positions = isAll ? nil : Set(try arguments.map { text throws(Failure) in try LetterPosition(argument: text) })
        let code = try settings[.code]
        filter = { code == nil || $0.code == code }
        guard isAll || code == nil else { throw Failure(.usage, "--code chooses among --all") }
        let (path, newKey) = (try settings[.value], try settings[.key])
        guard positions?.count == 1 || path == nil && newKey == nil else {
            throw Failure(.usage, "--value and --key are for one dead letter at a time")
        }
        value = try path.map { path throws(Failure) in try Self.contents(of: path) }
        key = newKey.map { Array($0.utf8) }
        (isUnchecked, isConfirmed) = (try settings[.unchecked], try settings[.yes])
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
        /// The sender's headers.
        let headers: HeaderList?
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
        return Record(
            letter: letter.position, topic: source, partition: owner, key: key, value: value,
            headers: letter.headerList?.removing(DeadLetter.ownHeaders))
    }

    /// Why the service would make the record a dead letter; nil if it would not.
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

/// The outcome for a dead letter.
enum ResendOutcome { case resent, resentBefore, refused }

extension ResendRequest {
    /// Sends records for the letters that were asked for and have no note yet.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the brokers at each step.
    ///   - show: receives each outcome once it is certain, and a line that says it.
    /// - Throws: ``Failure``, after which some letters may have been sent. The notes say which, so the command can run again.
    func run(_ clients: KafkaClients, timeout: Duration, show: (ResendOutcome, _ line: String) -> Void) throws(Failure) {
        let deadline = Deadline(after: timeout)
        let count = try clients.partitionCount(
            of: clients.topics.orders, asking: clients.admin(reachedUntil: deadline), until: deadline)
        // Created before the letters are read: it fences all other senders, so the notes are complete.
        let sender = try DeadLetterSender(clients, timeout: timeout)
        var records: [Record] = []
        let letters: [DeadLetter]
        do throws(Failure) {
            let reader = try DeadLetterReader(clients, upTo: .highWatermark, timeout: timeout)
            if let positions { letters = try reader.at(positions) } else { letters = try reader.all(where: filter) }
        } catch  where error.status == .unavailable {
            throw Failure(
                .unavailable, "the dead letters cannot be read to their end within \(DurationText.text(timeout))",
                hint: "a transaction of an instance that died may be undecided for some 20 s: try again")
        }
        for letter in letters {
            if letter.isResent {
                if positions != nil { show(.resentBefore, "\(letter.position.text) was sent before") }
                continue
            }
            do throws(Failure) {
                records.append(try record(for: letter, clients.topics, partitionCount: Int32(clamping: max(1, count))))
            } catch { show(.refused, "\(letter.position.text) not sent: \(error.message)".printable) }
        }
        guard records.count <= 1 || isConfirmed else {
            throw Failure(.usage, "sending \(records.count.counted("dead letter")) again needs --yes")
        }
        for start in stride(from: 0, to: records.count, by: DeadLetterSender.batchSize) {
            let batch = records[start..<min(start + DeadLetterSender.batchSize, records.count)]
            do throws(KafkaError) {
                try sender.send(batch, deadline: Deadline(after: timeout))
            } catch {
                let again = "run the command again: no letter is sent twice"
                if error.code == .fenced {
                    throw Failure(.unavailable, "another process has started to resend dead letters", hint: again)
                }
                var failure = clients.failure(error)
                failure.hint = [failure.hint, again].compactMap(\.self).joined(separator: "\n")
                throw failure
            }
            for record in batch {
                show(.resent, "\(record.letter.text) sent to \(record.topic) partition \(record.partition)")
            }
        }
    }
}

/// Writes records for dead letters, each exactly once, however often it is tried.
///
/// The resent record and a note in the dead-letter topic are written in one transaction. All senders share one transactional id, so
/// a new sender fences the previous one, whose transaction is then either committed or aborted (KIP-98). Notes that are read after
/// that are complete, and the sender can commit only until another one starts.
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
    /// - Throws: ``KafkaError``, after which nothing more can be sent. Initialising the transactional id again could fence a sender
    ///   that started since.
    func send(_ records: ArraySlice<ResendRequest.Record>, deadline: Deadline) throws(KafkaError) {
        // A request that librdkafka gave up on may still arrive, and commit half a batch (KIP-890).
        guard !session.hasLostConnection else {
            throw KafkaError(code: .timedOut, message: "a connection was lost during the last batch", isRetriable: true)
        }
        try begin(records)
        try retrying(while: { !deadline.isOver }) { () throws(KafkaError) in try session.commit(timeout: Self.callTimeout) }
    }

    /// Begins a transaction with these records, and notes that mark their letters as resent.
    func begin(_ records: some Sequence<ResendRequest.Record>) throws(KafkaError) {
        try session.begin()
        for record in records {
            let from = RecordHeader(name: HeaderName.resentFrom, value: record.letter.headerText)
            try produce(to: record.topic, record.partition, key: record.key, value: record.value, [from], record.headers)
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
