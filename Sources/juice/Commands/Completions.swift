import ArgumentParser
import Dispatch
import Foundation
import JuiceDomain
import JuiceMessages
import Synchronization

/// `juice completions`: prints the script that completes `juice` in a shell.
struct CompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print the script that completes juice's command lines in your shell.",
        discussion: """
            It completes commands and options; juices and fruits of the menu that the command line or the environment names; \
            and stores, if the brokers answer within a second.

            Examples:
              juice completions bash > ~/.local/share/bash-completion/completions/juice
              juice completions zsh > /usr/local/share/zsh/site-functions/_juice
              juice completions fish > ~/.config/fish/completions/juice.fish
            """
    )

    @Argument(
        help: ArgumentHelp("bash, zsh or fish.", valueName: "shell"), completion: .list(CompletionShell.allCases.map(\.rawValue))
    ) var shell: CompletionShell

    func run() { StandardOutput.line(JuiceCommand.completionScript(for: shell)) }
}

extension CompletionShell: @retroactive ExpressibleByArgument {}

extension CompletionKind {
    /// Juices of the menu in use.
    static var juices: Self {
        .custom { words, _, prefix in
            CompletedLine(words).menu.juices.flatMap { prefix.isKorean ? [$0.name.korean] + $0.aliases : [$0.id] }
        }
    }

    /// Fruits of the menu in use, separated by commas.
    static var fruits: Self {
        .custom { words, _, prefix in
            CompletedLine.list(CompletedLine(words).menu.fruits.map { prefix.isKorean ? $0.name.korean : $0.id }, after: prefix)
        }
    }

    /// Fruits of the menu in use, before an amount. There are two of each, so that no shell adds a space after the only one.
    static var amounts: Self {
        .custom { words, _, prefix in
            CompletedLine(words).menu.fruits.map { prefix.isKorean ? $0.name.korean : $0.id }.flatMap { ["\($0)=+", "\($0)=-"] }
        }
    }

    /// Stores that the brokers know.
    static var stores: Self { .custom { words, _, _ in CompletedLine(words).stores() } }

    /// The same, separated by commas.
    static var storeList: Self {
        .custom { words, _, prefix in CompletedLine.list(CompletedLine(words).stores(), after: prefix) }
    }
}

extension String {
    fileprivate var isKorean: Bool { contains { !$0.isASCII } }
}

/// What a command line that is being completed says of the menu and the brokers.
///
/// Whatever is wrong with it, there are fewer candidates and no messages: they would stand in the middle of the user's line.
struct CompletedLine {
    private let settings: Settings?

    /// - Parameters:
    ///   - words: as the shell has them, with quotes. bash splits them at `:` and `=`.
    init(_ words: [String], environment: [String: String] = ProcessInfo.processInfo.environment) {
        let names = ["bootstrap-servers", "config", "kafka-property-file", "menu", "topic-prefix"]
        var options = ["log-level": "critical"]
        let words = Self.joined(words)
        for (place, word) in words.enumerated() where word.hasPrefix("--") {
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, names.contains(name) else { continue }
            let value = parts.count > 1 ? parts[1] : words[(place + 1)...].first ?? ""
            options[name] = NSString(string: value).expandingTildeInPath
        }
        let file = options.removeValue(forKey: "config")
        settings = try? Settings(options: options, file: file, environment: environment)
    }

    /// The menu in use, or the built-in one if that cannot be read.
    var menu: Menu { (try? settings?.menu()) ?? .standard }

    /// The stores that are found in this time.
    func stores(within patience: Duration = .seconds(1)) -> [String] {
        let found = Mutex<Set<String>>([])
        let done = DispatchSemaphore(value: 0)
        // To free a client may take longer than that, for example while a name is looked up. The process does not wait for it.
        Thread { [self] in
            try? find(within: patience) { name, exists in
                found.withLock { stores in
                    guard exists else { return _ = stores.remove(name) }
                    stores.insert(name)
                }
            }
            done.signal()
        }.start()
        _ = done.wait(timeout: .now() + patience / .seconds(1))
        // A name that cannot be read as it stands would be typed by nobody, and some shells take a blank at its end away.
        return found.withLock(\.self).filter { StoreID.visible($0) == $0 }.sorted()
    }

    private func find(within patience: Duration, _ body: (_ store: String, _ exists: Bool) -> Void) throws {
        guard let settings else { return }
        let clients = try KafkaClients(settings)
        let deadline = Deadline(after: patience)
        let reader = try TopicReader(clients, topic: clients.topics.stock, timeout: patience)
        try reader.readAll { record throws(Failure) in
            guard !deadline.isOver else { throw Failure(.unavailable, "late") }
            if let key = record.key { body(String(decoding: key, as: UTF8.self), record.value != nil) }
        }
    }

    /// Candidates for the last item of a list.
    static func list(_ names: [String], after prefix: String) -> [String] {
        let given = prefix.split(separator: ",", omittingEmptySubsequences: false).dropLast().map(String.init)
        let head = given.map { $0 + "," }.joined()
        return names.filter { !given.contains($0) && !$0.contains(",") }.map { head + $0 }
    }

    /// The words without quotes, and without the splits of bash.
    private static func joined(_ words: [String]) -> [String] {
        words.reduce(into: []) { joined, word in
            let word = word.filter { !"\"'\\".contains($0) }
            let splits = [":", "="]
            if let last = joined.last, splits.contains(word) || splits.contains(where: last.hasSuffix) {
                joined[joined.count - 1] = last + word
            } else {
                joined.append(word)
            }
        }
    }
}
