import JuiceEngine
import JuiceMessages

/// What the topics are to the engine.
extension TopicNames {
    /// Those that commands are read from.
    var inputs: [String] { InputTopic.allCases.map { self[$0] } }
    /// Those that state is restored from.
    var changelogs: [String] { ChangelogTopic.allCases.map { self[$0] } }

    subscript(topic: InputTopic) -> String {
        switch topic {
        case .orders: orders
        case .restocks: restocks
        }
    }

    subscript(topic: OutputTopic) -> String {
        switch topic {
        case .results: results
        case .stock: stock
        case .deadLetters: deadLetters
        case .orders: orders
        case .restocks: restocks
        }
    }

    subscript(topic: ChangelogTopic) -> String {
        switch topic {
        case .stock: stock
        case .results: results
        }
    }
}
