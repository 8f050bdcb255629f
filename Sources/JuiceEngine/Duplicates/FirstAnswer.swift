import JuiceMessages

/// A first answer as the memory keeps it.
package enum FirstAnswer: Equatable {
    /// In a few bytes, from which it is written anew.
    case compact(CompactAnswer)
    /// As it was: a rejection, one that is too long to be compact, or one given by another menu or in another language.
    case verbatim([UInt8])
}
